#include "ranks/ranks.h"

#include <assert.h>
#include <mpi.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static_assert(sizeof(MPI_Request) <= sizeof(union kc_transport_request),
              "an MPI_Request does not fit in a request of the transport");

bool kc_ranks_in_build(void)
{
        return true;
}

int kc_ranks_nlaunched(void)
{
        /* Set by Open MPI's mpirun; by MPICH's, and srun --mpi=pmi2; and by srun. SLURM_NTASKS is
         * also set in a batch script, outside of srun. */
        static const char *const names[] = { "OMPI_COMM_WORLD_SIZE", "PMI_SIZE",
                                             "SLURM_STEP_NUM_TASKS" };
        for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
                const char *value = getenv(names[i]);
                if (value != NULL)
                        return atoi(value) > 1 ? atoi(value) : 1;
        }
        return 1;
}

bool kc_ranks_is_bound_by_default(void)
{
        /* the variables that mpirun's options and settings become */
        static const char *const choices[] = { "OMPI_MCA_hwloc_base_",
                                               "OMPI_MCA_rmaps_base_mapping",
                                               "OMPI_MCA_rmaps_base_cpus_per_" };
        for (char **variable = environ; *variable != NULL; variable++)
                for (size_t i = 0; i < sizeof choices / sizeof *choices; i++)
                        if (strncmp(*variable, choices[i], strlen(choices[i])) == 0)
                                return false;
        return getenv("OMPI_MCA_orte_bound_at_launch") != NULL;
}

/* At startup, Open MPI loads and tries the networks of its component cm, which takes 0.2 s or more.
 * Ranks of one machine do without it. If the user has chosen components, nothing is changed. */
static void expect_no_network(void)
{
        const char *all = getenv("OMPI_COMM_WORLD_SIZE"),
                   *here = getenv("OMPI_COMM_WORLD_LOCAL_SIZE");
        if (all != NULL && here != NULL && strcmp(all, here) == 0 &&
            getenv("OMPI_MCA_mtl") == NULL && getenv("OMPI_MCA_btl") == NULL)
                (void)setenv("OMPI_MCA_pml", "^cm", 0);
}

static enum kc_status check(int code, const char *what, struct kc_error *err)
{
        char text[MPI_MAX_ERROR_STRING];
        int length;
        if (code == MPI_SUCCESS)
                return KC_OK;
        if (MPI_Error_string(code, text, &length) != MPI_SUCCESS)
                return kc_fail(err, KC_EIO, "MPI: %s failed: error %d", what, code);
        return kc_fail(err, KC_EIO, "MPI: %s failed: %s", what, text);
}

/* ---- the transport ---- */

static enum kc_status post(void *ctx, int to, int tag, const void *data, size_t nbytes,
                           union kc_transport_request *request, struct kc_error *err)
{
        (void)ctx;
        return check(MPI_Isend(data, (int)nbytes, MPI_BYTE, to, tag, MPI_COMM_WORLD,
                               (MPI_Request *)request),
                     "sending", err);
}

static enum kc_status sent(void *ctx, union kc_transport_request *request, bool *done,
                           struct kc_error *err)
{
        int flag = 0;
        (void)ctx;
        const int code = MPI_Test((MPI_Request *)request, &flag, MPI_STATUS_IGNORE);
        *done = flag != 0;
        return check(code, "sending", err);
}

static enum kc_status take(void *ctx, int from, int tag, void *data, size_t cap, int *got_from,
                           int *got_tag, union kc_transport_request *request, struct kc_error *err)
{
        const int source = from == KC_TRANSPORT_ANY ? MPI_ANY_SOURCE : from;
        enum kc_status status;
        MPI_Status found;
        int flag;
        (void)ctx;
        *got_from = -1;
        KC_TRY(check(MPI_Iprobe(source, tag == KC_TRANSPORT_ANY ? MPI_ANY_TAG : tag, MPI_COMM_WORLD,
                                &flag, &found),
                     "receiving", err));
        if (!flag)
                return KC_OK;
        KC_TRY(check(MPI_Irecv(data, (int)cap, MPI_BYTE, found.MPI_SOURCE, found.MPI_TAG,
                               MPI_COMM_WORLD, (MPI_Request *)request),
                     "receiving", err));
        *got_from = found.MPI_SOURCE;
        *got_tag = found.MPI_TAG;
out:
        return status;
}

static enum kc_status taken(void *ctx, union kc_transport_request *request, bool *done,
                            size_t *nbytes, struct kc_error *err)
{
        enum kc_status status;
        MPI_Status got;
        int flag = 0, n = 0;
        (void)ctx;
        KC_TRY(check(MPI_Test((MPI_Request *)request, &flag, &got), "receiving", err));
        *done = flag != 0;
        if (*done)
                KC_TRY(check(MPI_Get_count(&got, MPI_BYTE, &n), "receiving", err));
        *nbytes = (size_t)n;
out:
        return status;
}

/* ---- life ---- */

enum kc_status kc_ranks_join(struct kc_transport **transport, struct kc_error *err)
{
        struct kc_transport *t = malloc(sizeof *t);
        enum kc_status status;
        int provided;
        *transport = NULL;
        if (t == NULL)
                return kc_fail(err, KC_ENOMEM, "out of memory");
        *t = (struct kc_transport){ .post = post, .sent = sent, .take = take, .taken = taken };
        expect_no_network();
        KC_TRY(check(MPI_Init_thread(NULL, NULL, MPI_THREAD_SERIALIZED, &provided), "starting",
                     err));
        KC_TRY(check(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "starting", err));
        KC_TRY(check(MPI_Comm_rank(MPI_COMM_WORLD, &t->rank), "starting", err));
        KC_TRY(check(MPI_Comm_size(MPI_COMM_WORLD, &t->nranks), "starting", err));
        if (provided < MPI_THREAD_SERIALIZED)
                KC_TRY(kc_fail(err, KC_EIO,
                               "this MPI does not support threads (MPI_THREAD_SERIALIZED)"));
        if (t->nranks > 1) {
                *transport = t;
                return KC_OK;
        }
out:
        kc_ranks_leave(t, false);
        return status;
}

void kc_ranks_leave(struct kc_transport *transport, bool broken)
{
        int initialized = 0;
        if (transport == NULL)
                return;
        if (broken)
                (void)MPI_Abort(MPI_COMM_WORLD, EXIT_FAILURE);
        else if (MPI_Initialized(&initialized) == MPI_SUCCESS && initialized)
                (void)MPI_Finalize();
        free(transport);
}
