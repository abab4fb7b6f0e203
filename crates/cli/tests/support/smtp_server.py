# A mail server for tests: smtp_server.py FOLDER [CERTIFICATE KEY]. With a certificate it offers STARTTLS and
# takes nothing without it. It writes its port into FOLDER/port and each message into FOLDER/mail-N.
import os
import socket
import ssl
import sys

folder, files = sys.argv[1], sys.argv[2:]
server = socket.create_server(("127.0.0.1", 0))
with open(f"{folder}/port.new", "w") as file:
    file.write(str(server.getsockname()[1]))
os.rename(f"{folder}/port.new", f"{folder}/port")
count = 0


def serve(connection):
    global count
    is_closed, said = not files, []
    stream = connection.makefile("rwb")

    def answer(text):
        stream.write(text.encode() + b"\r\n")
        stream.flush()

    answer("220 stand-in")
    while line := stream.readline().decode():
        verb = line.strip().split(" ")[0].split(":")[0].upper()
        if verb == "EHLO":
            answer("250-stand-in\r\n250 8BITMIME" if is_closed else "250-stand-in\r\n250 STARTTLS")
        elif verb == "STARTTLS":
            answer("220 go on")
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*files)
            connection = context.wrap_socket(connection, server_side=True)
            stream, is_closed = connection.makefile("rwb"), True
        elif verb == "QUIT":
            answer("221 bye")
            return
        elif not is_closed:
            answer("530 STARTTLS first")
        elif verb == "DATA":
            answer("354 go on")
            while (line := stream.readline().decode()).rstrip("\r\n") != ".":
                said.append(line)
            count += 1
            with open(f"{folder}/mail.new", "w") as file:
                file.write("".join(said))
            os.rename(f"{folder}/mail.new", f"{folder}/mail-{count}")
            answer("250 taken")
        else:
            said.append(line)
            answer("250 fine")


while True:
    try:
        serve(server.accept()[0])
    except (OSError, ssl.SSLError):
        pass
