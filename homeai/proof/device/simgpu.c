/* simgpu.c - a simulated accelerator for ggml and llama.cpp.
 *
 * llama.cpp sees a GPU with memory of its own: it enforces its size, refuses what does not fit, and
 * fails on command. Tensors lie in ordinary memory and ggml's CPU kernels do the maths, so texts are
 * the CPU's. It simulates a device, not a driver: error texts, timing and rounding are not a GPU's.
 *
 * $SIMGPU_STATE, read again at every allocation and every graph (write a new file, rename it over):
 *
 *   total BYTES            device memory (default 8 GiB)
 *   other BYTES            used by other programs (no process behind it)
 *   devices 0|1            devices there are (default 1); 0 = unplugged      (read once)
 *   type gpu|igpu          device type                       (read once)
 *   name TEXT              device description                (read once)
 *   alloc_fail N           refuse every allocation of N bytes or more
 *   compute_ms N           extra time per graph
 *   fault KIND [AFTER]     at the AFTER-th graph from now on (default 1):
 *       status_failed   graph_compute returns GGML_STATUS_FAILED
 *       status_alloc    ... GGML_STATUS_ALLOC_FAILED
 *       abort           as ggml-cuda does on any CUDA error: log, then GGML_ABORT
 *       segv            SIGSEGV          exit       _exit(1)
 *       kill            SIGKILL itself   hang       never returns
 *   once NAME              a fault happens only while the file NAME does not exist; it makes that file,
 *                          so that the next process finds a healthy device
 *
 * $SIMGPU_LEDGER, a folder: processes that share it share one device memory. Each writes what it holds
 * to LEDGER/PID; files of dead processes do not count. Allocation = check + reserve under flock().
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <time.h>
#include <unistd.h>

#include "ggml-backend-impl.h"
#include "ggml-backend.h"

/* exported by libggml-base; declared in ggml-impl.h */
extern void ggml_log_internal(enum ggml_log_level level, const char * format, ...);
#define LOG_ERROR(...) ggml_log_internal(GGML_LOG_LEVEL_ERROR, __VA_ARGS__)

#if GGML_BACKEND_API_VERSION != 2
#error "written for GGML_BACKEND_API_VERSION 2: compare the structs in ggml-backend-impl.h"
#endif

#define SIM_ALIGN 128

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static size_t own_bytes;      /* allocated by this process */
static long   graphs;         /* graphs computed */

/* ---- state file ---------------------------------------------------------- */
static int state(const char * key, char * out, size_t cap) {
    const char * path = getenv("SIMGPU_STATE");
    FILE * f = path ? fopen(path, "r") : NULL;
    char line[512];
    size_t n = strlen(key);
    int hit = 0;
    if (!f) return 0;
    while (!hit && fgets(line, sizeof line, f)) {
        if (strncmp(line, key, n) || line[n] != ' ') continue;
        line[strcspn(line, "\r\n")] = 0;
        snprintf(out, cap, "%s", line + n + 1);
        hit = 1;
    }
    fclose(f);
    return hit;
}
static size_t state_num(const char * key, size_t dflt) {
    char b[512];
    return state(key, b, sizeof b) ? strtoull(b, NULL, 0) : dflt;
}

/* ---- memory -------------------------------------------------------------- */
static size_t others_in_ledger(const char * dir) {
    size_t sum = 0;
    DIR * d = opendir(dir);
    struct dirent * e;
    if (!d) return 0;
    while ((e = readdir(d))) {
        char path[4096];
        unsigned long long v = 0;
        long pid = strtol(e->d_name, NULL, 10);
        if (pid <= 0 || pid == getpid()) continue;
        if (kill((pid_t) pid, 0) && errno == ESRCH) continue;          /* dead: its memory is back */
        snprintf(path, sizeof path, "%s/%s", dir, e->d_name);
        FILE * f = fopen(path, "r");
        if (f) {
            if (fscanf(f, "%llu", &v) == 1) sum += v;
            fclose(f);
        }
    }
    closedir(d);
    return sum;
}
static void ledger_write(const char * dir) {
    char path[4096], tmp[4200];
    snprintf(path, sizeof path, "%s/%ld", dir, (long) getpid());
    snprintf(tmp, sizeof tmp, "%s/.%ld", dir, (long) getpid());
    FILE * f = fopen(tmp, "w");
    if (!f) return;
    fprintf(f, "%zu\n", own_bytes);
    fclose(f);
    rename(tmp, path);
}
static size_t used_elsewhere(void) {
    const char * dir = getenv("SIMGPU_LEDGER");
    return state_num("other", 0) + (dir ? others_in_ledger(dir) : 0);
}
/* add (n > 0) if it fits, or give back; 0 = refused */
static int account(long long n) {
    const char * dir = getenv("SIMGPU_LEDGER");
    int fd = -1, ok = 1;
    pthread_mutex_lock(&lock);
    if (dir) {
        char path[4096];
        snprintf(path, sizeof path, "%s/.lock", dir);
        fd = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
        if (fd >= 0) flock(fd, LOCK_EX);
    }
    if (n > 0) {
        size_t total = state_num("total", 8ull << 30), limit = state_num("alloc_fail", 0);
        if (own_bytes + (size_t) n + used_elsewhere() > total || (limit && (size_t) n >= limit)) ok = 0;
    }
    if (ok) {
        own_bytes += n;
        if (dir) ledger_write(dir);
    }
    if (fd >= 0) close(fd);
    pthread_mutex_unlock(&lock);
    return ok;
}
static void dev_memory(size_t * free_, size_t * total) {
    pthread_mutex_lock(&lock);
    size_t used = own_bytes + used_elsewhere();
    pthread_mutex_unlock(&lock);
    *total = state_num("total", 8ull << 30);
    *free_ = used < *total ? *total - used : 0;
}

/* ---- buffers ------------------------------------------------------------- */
static void buf_free(ggml_backend_buffer_t b)       { account(-(long long) b->size); free(b->context); }
static void * buf_base(ggml_backend_buffer_t b)     { return b->context; }
static void buf_memset(ggml_backend_buffer_t b, struct ggml_tensor * t, uint8_t v, size_t off, size_t n) { (void) b; memset((char *) t->data + off, v, n); }
static void buf_set(ggml_backend_buffer_t b, struct ggml_tensor * t, const void * d, size_t off, size_t n) { (void) b; memcpy((char *) t->data + off, d, n); }
static void buf_get(ggml_backend_buffer_t b, const struct ggml_tensor * t, void * d, size_t off, size_t n) { (void) b; memcpy(d, (const char *) t->data + off, n); }
static void buf_clear(ggml_backend_buffer_t b, uint8_t v) { memset(b->context, v, b->size); }

static const struct ggml_backend_buffer_i buf_i = {
    .free_buffer   = buf_free,
    .get_base      = buf_base,
    .memset_tensor = buf_memset,
    .set_tensor    = buf_set,
    .get_tensor    = buf_get,
    .clear         = buf_clear,
};

static const char * buft_name(ggml_backend_buffer_type_t t) { (void) t; return "SIMGPU0"; }
static size_t buft_align(ggml_backend_buffer_type_t t) { (void) t; return SIM_ALIGN; }
static ggml_backend_buffer_t buft_alloc(ggml_backend_buffer_type_t t, size_t size) {
    void * p = NULL;
    if (!account((long long) size)) {
        size_t f, tot;
        dev_memory(&f, &tot);
        LOG_ERROR("%s: allocating %.2f MiB on device 0: simgpu malloc failed: out of memory (%.2f of %.2f MiB free)\n",
                       __func__, size / 1048576.0, f / 1048576.0, tot / 1048576.0);
        return NULL;
    }
    if (posix_memalign(&p, SIM_ALIGN, size ? size : SIM_ALIGN)) {
        account(-(long long) size);
        return NULL;
    }
    return ggml_backend_buffer_init(t, buf_i, p, size);
}
static struct ggml_backend_buffer_type buft = {
    .iface = { .get_name = buft_name, .alloc_buffer = buft_alloc, .get_alignment = buft_align },
};

/* ---- stream -------------------------------------------------------------- */
/* the scripted fault, if its turn has come */
static enum ggml_status fault(void) {
    static char armed[512];
    static long armed_at;
    char b[512], once[512], kind[64] = "";
    long after = 1;
    if (!state("fault", b, sizeof b)) { armed[0] = 0; return GGML_STATUS_SUCCESS; }
    if (strcmp(b, armed)) { memcpy(armed, b, sizeof armed); armed_at = graphs; }
    sscanf(b, "%63s %ld", kind, &after);
    if (graphs - armed_at + 1 < after) return GGML_STATUS_SUCCESS;
    if (state("once", once, sizeof once)) {
        int fd = open(once, O_CREAT | O_EXCL | O_WRONLY, 0600);
        if (fd < 0) return GGML_STATUS_SUCCESS;                        /* it has happened */
        close(fd);
    }
    if (!strcmp(kind, "status_failed")) return GGML_STATUS_FAILED;
    if (!strcmp(kind, "status_alloc"))  return GGML_STATUS_ALLOC_FAILED;
    if (!strcmp(kind, "abort")) {
        LOG_ERROR("SIMGPU error: an illegal memory access was encountered\n");
        GGML_ABORT("SIMGPU error");
    }
    if (!strcmp(kind, "segv")) raise(SIGSEGV);
    if (!strcmp(kind, "kill")) raise(SIGKILL);
    if (!strcmp(kind, "exit")) _exit(1);
    while (!strcmp(kind, "hang")) pause();
    return GGML_STATUS_SUCCESS;
}
static const char * be_name(ggml_backend_t b) { (void) b; return "SIMGPU0"; }
static void be_free(ggml_backend_t b) { ggml_backend_free((ggml_backend_t) b->context); free(b); }
static enum ggml_status be_compute(ggml_backend_t b, struct ggml_cgraph * g) {
    size_t ms = state_num("compute_ms", 0);
    if (ms) {
        struct timespec t = { (time_t) (ms / 1000), (long) (ms % 1000) * 1000000L };
        nanosleep(&t, NULL);
    }
    enum ggml_status st = fault();
    graphs++;
    if (st != GGML_STATUS_SUCCESS) return st;
    return ggml_backend_graph_compute((ggml_backend_t) b->context, g);
}
static const struct ggml_backend_i be_i = { .get_name = be_name, .free = be_free, .graph_compute = be_compute };
static uint8_t guid[16] = "homeai-simgpu-01";

/* ---- device and registry -------------------------------------------------- */
static struct ggml_backend_device dev;
static struct ggml_backend_reg reg;

static const char * dev_name(ggml_backend_dev_t d) { (void) d; return "SIMGPU0"; }
static const char * dev_desc(ggml_backend_dev_t d) {
    static char text[256];
    (void) d;
    if (!text[0] && !state("name", text, sizeof text)) snprintf(text, sizeof text, "Simulated accelerator");
    return text;
}
static void dev_mem(ggml_backend_dev_t d, size_t * f, size_t * t) { (void) d; dev_memory(f, t); }
static enum ggml_backend_dev_type dev_type(ggml_backend_dev_t d) {
    char b[64];
    (void) d;
    return state("type", b, sizeof b) && !strcmp(b, "igpu") ? GGML_BACKEND_DEVICE_TYPE_IGPU : GGML_BACKEND_DEVICE_TYPE_GPU;
}
static void dev_props(ggml_backend_dev_t d, struct ggml_backend_dev_props * p) {
    memset(p, 0, sizeof *p);
    p->name = dev_name(d);
    p->description = dev_desc(d);
    p->type = dev_type(d);
    dev_memory(&p->memory_free, &p->memory_total);
    p->caps.mmap_support = true;
}
static ggml_backend_t dev_init(ggml_backend_dev_t d, const char * params) {
    (void) params;
    ggml_backend_t b = calloc(1, sizeof *b), cpu = ggml_backend_init_by_type(GGML_BACKEND_DEVICE_TYPE_CPU, NULL);
    if (!b || !cpu) return NULL;
    b->guid = &guid;
    b->iface = be_i;
    b->device = d;
    b->context = cpu;
    return b;
}
static ggml_backend_buffer_type_t dev_buft(ggml_backend_dev_t d) { buft.device = d; return &buft; }
static bool dev_supports_op(ggml_backend_dev_t d, const struct ggml_tensor * op) {
    (void) d;
    return ggml_backend_dev_supports_op(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU), op);
}
/* As the CUDA and Vulkan backends do: large batches are worth copying the weights over for, even
 * those of layers that live on the CPU.  So n_gpu_layers=0 does not keep a process off the device. */
static bool dev_offload_op(ggml_backend_dev_t d, const struct ggml_tensor * op) {
    (void) d;
    switch (op->op) {
        case GGML_OP_GET_ROWS: return false;
        case GGML_OP_MUL_MAT:  return op->ne[1] >= 32;
        case GGML_OP_MUL_MAT_ID:
        case GGML_OP_ROPE:     return op->ne[2] >= 32;
        default:               return ggml_nrows(op) >= 32;
    }
}
static bool dev_supports_buft(ggml_backend_dev_t d, ggml_backend_buffer_type_t t) { (void) d; return t == &buft; }

static const char * reg_name(ggml_backend_reg_t r) { (void) r; return "SIMGPU"; }
static size_t reg_count(ggml_backend_reg_t r) { (void) r; return state_num("devices", 1) ? 1 : 0; }
static ggml_backend_dev_t reg_dev(ggml_backend_reg_t r, size_t i) { (void) r; (void) i; return &dev; }
static void * cpu_proc(const char * name) {
    return ggml_backend_reg_get_proc_address(ggml_backend_dev_backend_reg(ggml_backend_dev_by_type(GGML_BACKEND_DEVICE_TYPE_CPU)), name);
}
static void be_set_n_threads(ggml_backend_t b, int n) {
    ggml_backend_set_n_threads_t f = (ggml_backend_set_n_threads_t) cpu_proc("ggml_backend_set_n_threads");
    if (f) f((ggml_backend_t) b->context, n);
}
/* no "ggml_backend_set_abort_callback": the CUDA and Vulkan backends have none either */
static void * reg_proc(ggml_backend_reg_t r, const char * name) {
    (void) r;
    if (!strcmp(name, "ggml_backend_set_n_threads")) return (void *) be_set_n_threads;
    return NULL;
}

static struct ggml_backend_device dev = {
    .iface = {
        .get_name = dev_name, .get_description = dev_desc, .get_memory = dev_mem, .get_type = dev_type,
        .get_props = dev_props, .init_backend = dev_init, .get_buffer_type = dev_buft,
        .supports_op = dev_supports_op, .supports_buft = dev_supports_buft, .offload_op = dev_offload_op,
    },
    .reg = &reg,
};
static struct ggml_backend_reg reg = {
    .api_version = GGML_BACKEND_API_VERSION,
    .iface = { .get_name = reg_name, .get_device_count = reg_count, .get_device = reg_dev, .get_proc_address = reg_proc },
};

__attribute__((visibility("default"))) ggml_backend_reg_t ggml_backend_init(void) { return &reg; }
