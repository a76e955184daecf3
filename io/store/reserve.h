/*
 * Writing one file with many threads. The kernel lets one thread at a time write() to a file, at
 * about 4 GB/s; so space is reserved ahead, and large pieces are copied into the file's own pages.
 *
 * Only in space that the file system has promised is anything ever stored that way: a store to a page
 * that the disk has no room for would kill the program. Where nothing is promised (a full disk, a limit on the file's
 * size, a file system of another kind) all is as before: write() reports what is wrong.
 */
#ifndef KC_IO_STORE_RESERVE_H
#define KC_IO_STORE_RESERVE_H

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct kc_reserve {
        int fd;
        bool initialized;
        atomic_uint_fast64_t reserved; /* bytes of the file, from its start */
        atomic_uint_fast64_t end;      /* of what was written */
        atomic_bool refused;           /* no more can be had */
        atomic_bool tried;             /* the file may be longer than what was written */
        pthread_mutex_t growing;
        atomic_uint_fast64_t target; /* for the thread that works ahead */
        atomic_bool stop, busy;
        pthread_t thread;
        bool has_thread;
        /* Mapped one by one as they are needed, and kept: to map and unmap each piece takes a lock
         * that all threads of the process need. */
        _Atomic(char *) *windows; /* [NWINDOWS]; NULL: of the file's kind nothing is mapped */
        sem_t writers;            /* that may copy at once */
        atomic_int nwriting;      /* threads in kc_reserve_begin .. kc_reserve_end */
};

/* Looks what kind of file system fd is on. Cannot fail. What the file holds already is kept. */
void kc_reserve_init(struct kc_reserve *reserve, int fd);
void kc_reserve_destroy(struct kc_reserve *reserve); /* a zeroed one is fine */

/*
 * The file will have about nbytes: a thread reserves them while others are busy otherwise.
 * What turns out too much is cut off again. Nothing is done where that would take more than half of
 * what is free: others write too, and nbytes is a guess. To be called by one thread at a time.
 */
void kc_reserve_ahead(struct kc_reserve *reserve, uint64_t nbytes);

/*
 * Around the writing of a piece, in whatever way. Several threads may do so at once, for different
 * places. True: begin has copied the piece into the file. False: it must be written, which is the
 * quicker way for a small piece, and for few threads.
 */
bool kc_reserve_begin(struct kc_reserve *reserve, const void *data, size_t nbytes, uint64_t offset);
void kc_reserve_end(struct kc_reserve *reserve);

/* Cut off what was reserved in vain. False, with errno set, if the system refuses. */
bool kc_reserve_trim(struct kc_reserve *reserve);

#endif
