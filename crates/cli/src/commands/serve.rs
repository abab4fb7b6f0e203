//! `yard serve`

use crate::exit_code;
use crate::failure::{Failure, FailureKind, Outcome};
use crate::printer::Printer;
use clap::Args as ClapArgs;
use runs::places;

/// Show runs and jobs as live pages in a browser, until Ctrl-C
///
/// It listens on this machine alone. The address has a token: whoever has it sees the runs and their
/// logs.
#[derive(Debug, ClapArgs)]
pub struct Args {
    /// Its port; a free one without it
    #[arg(long)]
    port: Option<u16>,
}

/// Runs `yard serve`.
pub fn run(args: &Args, printer: &Printer) -> Outcome {
    let places = places()?;
    let wrong = |error: std::io::Error| {
        let what = format!("port {} can't be used: {error}", args.port.unwrap_or(0));
        Failure::new(FailureKind::Io, what).todo("leave --port out for a free one")
    };
    let server = web::open(args.port).map_err(wrong)?;
    let port = server.address().map_err(wrong)?.port();
    let token = server.token().text();
    printer.line(&format!("http://127.0.0.1:{port}/?token={token}"));
    let host = sys::host_name();
    printer.say(&format!(
        "from elsewhere, first: ssh -N -L {port}:127.0.0.1:{port} {host}"
    ));
    printer.say("Ctrl-C ends the pages; runs go on");
    server.run(places).map_err(wrong)?;
    Ok(exit_code::DONE)
}
