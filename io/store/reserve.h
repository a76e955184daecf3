/*
 * Writing one file with many threads. The kernel lets only one thread at a time write() to a file,
 * at about 4 GB/s; so space is reserved ahead, and large pieces are copied into mapped pages of the
 * file.
 *
 * Pages are stored to only in space that the file system has promised: a store to a page that the
 * disk has no room for would kill the program. If nothing is promised (a full disk, a limit on the
 * file's size, another kind of file system), write() is used, which reports what is wrong.
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
        atomic_uint_fast64_t reserved; /* bytes reserved, from the file's start */
        atomic_uint_fast64_t end;      /* of what was written */
        atomic_bool refused;           /* no more can be reserved */
        atomic_bool tried;             /* the file may be longer than what was written */
        pthread_mutex_t growing;
        atomic_uint_fast64_t target; /* for the thread that works ahead */
        atomic_bool stop, busy;
        pthread_t thread;
        bool has_thread;
        /* Mapped one by one as needed, and kept: mapping and unmapping each piece would take a lock
         * that all threads of the process need. */
        _Atomic(char *) *windows; /* [NWINDOWS]; NULL: this file system is not mapped */
        sem_t writers;            /* threads that may still begin to copy */
        atomic_int nwriting;      /* threads in kc_reserve_begin .. kc_reserve_end */
};

/* Checks what kind of file system fd is on. Cannot fail. The file's content is kept; fd stays the
 * caller's. */
void kc_reserve_init(struct kc_reserve *reserve, int fd);
void kc_reserve_destroy(struct kc_reserve *reserve); /* a zeroed one is fine */

/*
 * The file will have about nbytes: start a thread that reserves them while others work. The last
 * call counts, even if it says less. Any excess is cut off again, which in a RAM disk takes a tenth
 * of a second per gigabyte. With what earlier calls reserved, it takes at most half of the free
 * space: others write too, and nbytes is an estimate. To be called by one thread at a time.
 */
void kc_reserve_ahead(struct kc_reserve *reserve, uint64_t nbytes);

/*
 * Call begin and end around the writing of each piece; from any thread, for different places. True:
 * begin has copied the piece into the file. False: the caller must write it, which is faster for a
 * small piece or few threads.
 */
bool kc_reserve_begin(struct kc_reserve *reserve, const void *data, size_t nbytes, uint64_t offset);
void kc_reserve_end(struct kc_reserve *reserve);

/* Cut off what was reserved but not used. False, with errno set, if the system refuses. */
bool kc_reserve_trim(struct kc_reserve *reserve);

#endif
