/*
 * This pretends to be NVIDIA's management library, and is no part of it: a stand-in for tests on
 * machines without GPUs, built by them as libnvidia-ml.so.1 and found through LD_LIBRARY_PATH.
 *
 * It has the functions that `sys::gpus` calls, with the signatures of NVIDIA's nvml.h, and answers
 * from one variable:
 *
 *   PRETENDED_GPUS=UUID,MIB,NAME;UUID,MIB,NAME;...   the GPUs, in order
 *   PRETENDED_GPUS=broken                            a driver that does not answer
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, UNKNOWN = 999 };

struct gpu {
    char uuid[96];
    char name[96];
    unsigned long long mib;
};

/* nvmlMemory_v2_t */
struct memory {
    unsigned int version;
    unsigned long long total, reserved, free, used;
};

static struct gpu gpus[64];
static unsigned int count;

int nvmlInit_v2(void) {
    const char *at = getenv("PRETENDED_GPUS");
    if (at == NULL)
        return DRIVER_NOT_LOADED;
    if (strcmp(at, "broken") == 0)
        return UNKNOWN;
    for (count = 0; *at != '\0' && count < 64; count++) {
        struct gpu *gpu = &gpus[count];
        int length = 0;
        if (sscanf(at, "%95[^,],%llu,%95[^;]%n", gpu->uuid, &gpu->mib, gpu->name, &length) != 3)
            return INVALID_ARGUMENT;
        at += length;
        if (*at == ';')
            at++;
    }
    return SUCCESS;
}

int nvmlInitWithFlags(unsigned int flags) {
    (void)flags;
    return nvmlInit_v2();
}

int nvmlShutdown(void) { return SUCCESS; }

const char *nvmlErrorString(int code) {
    return code == SUCCESS ? "Success" : "an error of the pretended library";
}

int nvmlSystemGetDriverVersion(char *text, unsigned int length) {
    return snprintf(text, length, "550.0") < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetCount_v2(unsigned int *answer) {
    *answer = count;
    return SUCCESS;
}

int nvmlDeviceGetHandleByIndex_v2(unsigned int index, struct gpu **device) {
    if (index >= count)
        return INVALID_ARGUMENT;
    *device = &gpus[index];
    return SUCCESS;
}

int nvmlDeviceGetUUID(struct gpu *device, char *text, unsigned int length) {
    return snprintf(text, length, "%s", device->uuid) < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetName(struct gpu *device, char *text, unsigned int length) {
    return snprintf(text, length, "%s", device->name) < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

int nvmlDeviceGetMemoryInfo_v2(struct gpu *device, struct memory *memory) {
    if (memory->version != (sizeof(struct memory) | 2u << 24))
        return INVALID_ARGUMENT;
    memory->total = device->mib << 20;
    memory->reserved = memory->used = 0;
    memory->free = memory->total;
    return SUCCESS;
}
