/*
 * This pretends to be NVIDIA's management library, and is no part of it: a stand-in for tests on
 * machines without GPUs, built by them as libnvidia-ml.so.1 and found through LD_LIBRARY_PATH.
 *
 * It has the functions that crate `sys` calls, with the signatures of NVIDIA's nvml.h, and answers
 * from a variable:
 *
 *   PRETENDED_GPUS=UUID,MIB,NAME;UUID,MIB,NAME;...   the GPUs, in order
 *   PRETENDED_GPUS=broken                            a driver that does not answer
 *
 * What they do stands in the file that PRETENDED_USE names, read at each question: a line a GPU,
 * "PERCENT MEMORY_PERCENT USED_MIB MILLIWATTS CELSIUS SM_MHZ ERRORS", or
 * "lost": then nothing but its memory is known. Errors that the driver reports stand in the file that
 * PRETENDED_XID names, read to its end at each question: a line each, "INDEX XID". Where they are on
 * the PCI bus stands in PRETENDED_PCI, "0000:65:00.0;...", in order. Where PRETENDED_DEVICES
 * is set, the driver tells that the first one's device is nvidia0, and so on. PRETENDED_CPUS has the
 * CPU near each, in order: "0;1".
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SUCCESS = 0, INVALID_ARGUMENT = 2, NOT_SUPPORTED = 3, INSUFFICIENT_SIZE = 7, DRIVER_NOT_LOADED = 9, TIMED_OUT = 10, GPU_IS_LOST = 15, UNKNOWN = 999 };

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

int nvmlDeviceGetMinorNumber(struct gpu *device, unsigned int *answer) {
    if (getenv("PRETENDED_DEVICES") == NULL)
        return NOT_SUPPORTED;
    *answer = (unsigned int)(device - gpus);
    return SUCCESS;
}

int nvmlDeviceGetName(struct gpu *device, char *text, unsigned int length) {
    return snprintf(text, length, "%s", device->name) < (int)length ? SUCCESS : INSUFFICIENT_SIZE;
}

/* nvmlPciInfo_t */
struct pci {
    char legacy_bus_id[16];
    unsigned int domain, bus, device, device_id, subsystem_id;
    char bus_id[32];
};

int nvmlDeviceGetPciInfo_v3(struct gpu *device, struct pci *pci) {
    const char *at = getenv("PRETENDED_PCI");
    for (long left = device - gpus; at != NULL && left > 0; left--) {
        at = strchr(at, ';');
        at = at == NULL ? NULL : at + 1;
    }
    memset(pci, 0, sizeof *pci);
    if (at == NULL || sscanf(at, "%31[^;]", pci->bus_id) != 1)
        return NOT_SUPPORTED;
    return SUCCESS;
}

int nvmlDeviceGetCpuAffinity(struct gpu *device, unsigned int words, unsigned long *set) {
    const char *at = getenv("PRETENDED_CPUS");
    for (long left = device - gpus; at != NULL && left > 0; left--) {
        at = strchr(at, ';');
        at = at == NULL ? NULL : at + 1;
    }
    unsigned int cpu;
    if (at == NULL || sscanf(at, "%u", &cpu) != 1 || cpu / 64 >= words)
        return NOT_SUPPORTED;
    memset(set, 0, words * sizeof *set);
    set[cpu / 64] = 1ul << cpu % 64;
    return SUCCESS;
}

struct use {
    unsigned int percent, memory_percent, mib, milliwatts, celsius, mhz, errors;
};

static int used(struct gpu *device, struct use *use) {
    memset(use, 0, sizeof *use);
    const char *path = getenv("PRETENDED_USE");
    FILE *file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL)
        return NOT_SUPPORTED;
    char line[256];
    int known = NOT_SUPPORTED;
    for (long at = 0; fgets(line, sizeof line, file) != NULL; at++) {
        if (at != device - gpus)
            continue;
        int read = sscanf(line, "%u %u %u %u %u %u %u", &use->percent, &use->memory_percent,
                          &use->mib, &use->milliwatts, &use->celsius, &use->mhz, &use->errors);
        known = read == 7 ? SUCCESS : GPU_IS_LOST;
    }
    fclose(file);
    return known;
}

int nvmlDeviceGetMemoryInfo_v2(struct gpu *device, struct memory *memory) {
    if (memory->version != (sizeof(struct memory) | 2u << 24))
        return INVALID_ARGUMENT;
    memory->total = device->mib << 20;
    struct use use;
    memory->reserved = 0;
    memory->used = used(device, &use) == SUCCESS ? (unsigned long long)use.mib << 20 : 0;
    memory->free = memory->total - memory->used;
    return SUCCESS;
}

/* nvmlUtilization_t */
struct rates {
    unsigned int gpu, memory;
};

int nvmlDeviceGetUtilizationRates(struct gpu *device, struct rates *rates) {
    struct use use;
    int known = used(device, &use);
    rates->gpu = use.percent;
    rates->memory = use.memory_percent;
    return known;
}

int nvmlDeviceGetPowerUsage(struct gpu *device, unsigned int *answer) {
    struct use use;
    int known = used(device, &use);
    *answer = use.milliwatts;
    return known;
}

int nvmlDeviceGetTemperature(struct gpu *device, int sensor, unsigned int *answer) {
    (void)sensor;
    struct use use;
    int known = used(device, &use);
    *answer = use.celsius;
    return known;
}

/* Clock 1 is that of the processors. */
int nvmlDeviceGetClockInfo(struct gpu *device, int clock, unsigned int *answer) {
    struct use use;
    int known = used(device, &use);
    *answer = use.mhz;
    return clock == 1 ? known : NOT_SUPPORTED;
}

int nvmlDeviceGetTotalEccErrors(struct gpu *device, int kind, int counter, unsigned long long *answer) {
    (void)kind, (void)counter;
    struct use use;
    int known = used(device, &use);
    *answer = use.errors;
    return known;
}

/* A set of events is one GPU's, and how many of the file's lines it has given. */
struct events {
    struct gpu *gpu;
    long given;
};

int nvmlEventSetCreate(struct events **set) {
    *set = calloc(1, sizeof **set);
    return SUCCESS;
}

int nvmlEventSetFree(struct events *set) {
    free(set);
    return SUCCESS;
}

int nvmlDeviceRegisterEvents(struct gpu *device, unsigned long long kinds, struct events *set) {
    set->gpu = device;
    return kinds == 8 ? SUCCESS : NOT_SUPPORTED;
}

/* nvmlEventData_t */
struct event {
    struct gpu *device;
    unsigned long long kind, data;
    unsigned int instance, compute_instance;
};

int nvmlEventSetWait_v2(struct events *set, struct event *event, unsigned int timeout) {
    (void)timeout;
    const char *path = getenv("PRETENDED_XID");
    FILE *file = path == NULL ? NULL : fopen(path, "r");
    if (file == NULL)
        return TIMED_OUT;
    long index, at = 0;
    unsigned long long xid;
    int found = TIMED_OUT;
    while (found != SUCCESS && fscanf(file, "%ld %llu", &index, &xid) == 2) {
        if (at++ < set->given)
            continue;
        set->given = at;
        if (index == set->gpu - gpus) {
            memset(event, 0, sizeof *event);
            event->device = set->gpu;
            event->kind = 8;
            event->data = xid;
            found = SUCCESS;
        }
    }
    fclose(file);
    return found;
}
