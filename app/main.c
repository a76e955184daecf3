/*
 * kcount: the table of commands; prints the error of a command and chooses the exit code. (Only
 * writing_run_text, app/cmd_filter.c and app/cmd_report.c end the process themselves: by SIGPIPE,
 * when nobody reads their output.)
 */
#include "app/cli/advice.h"
#include "app/cli/help.h"
#include "app/cli/message.h"
#include "app/cli/shell.h"
#include "app/cli/signals.h"
#include "app/cli/suggest.h"
#include "app/count/ranks.h"
#include "app/count/references.h"
#include "app/kmc/kmc.h"
#include "app/library/machine.h"
#include "app/version.h"
#include "base/clock.h"
#include "base/parallel.h"

#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, EXIT_UNTIDY = 3 };

const struct command *const command_table[] = {
        &command_count,
        &command_hist,
        &command_model,
        &command_compare,
        &command_dump,
        &command_query,
        &command_profile,
        &command_report,
        &command_filter,
        &command_range,
        &command_info,
        &command_check,
        &command_merge,
        &command_union,
        &command_intersect,
        &command_subtract,
        &command_add,
        &command_remove,
        &command_compact,
        &command_export,
        &command_import,
        &command_help,
        NULL,
};

const struct command *command_find(const char *name)
{
        for (const struct command *const *c = command_table; *c; c++)
                if (strcmp((*c)->name, name) == 0)
                        return *c;
        return NULL;
}

/*
 * If descriptor 0, 1 or 2 is closed, the next file opened would get it, and messages or data would
 * be written into that file. So open it in the wrong mode, so that using it fails.
 */
static void occupy_standard_descriptors(void)
{
        for (int fd = STDIN_FILENO; fd <= STDERR_FILENO; fd++)
                if (fcntl(fd, F_GETFD) < 0 &&
                    open("/dev/null", fd == STDIN_FILENO ? O_WRONLY : O_RDONLY) < 0)
                        _exit(EXIT_FAILURE);
}

static void print_help(const struct invocation *call)
{
        const bool *json = invocation_field(call, "json");
        if (!ranks_is_first(call->ranks))
                return;
        if (call->wants_help)
                help_command(call->out, call->command);
        else if (call->wants_usage)
                help_usage(call->out, call->command);
        else
                version_print(call->out, json != NULL && *json);
}

/* The number is obeyed. */
static void warn_of_threads(const struct invocation *call)
{
        const uint64_t *nthreads = invocation_field(call, "threads");
        const bool *quiet = invocation_field(call, "quiet");
        const uint64_t ncores = (uint64_t)kc_machine_nthreads(0);
        if (nthreads == NULL || *nthreads <= 4 * ncores || (quiet != NULL && *quiet) ||
            !ranks_is_first(call->ranks))
                return;
        message_print("kcount: -t %llu on %llu core%s: more threads than cores cost time and "
                      "memory\n",
                      (unsigned long long)*nthreads, (unsigned long long)ncores,
                      ncores == 1 ? "" : "s");
}

static enum kc_status run(struct invocation *call, int argc, char **argv, struct kc_error *err)
{
        enum kc_status status;
        KC_TRY(invocation_parse(call, argc, argv, err));
        if (call->wants_usage || call->wants_help || call->wants_version) {
                print_help(call);
                return KC_OK;
        }
        if (!call->command->by_ranks)
                KC_TRY(ranks_require_one(call->ranks, call->command->name, err));
        warn_of_threads(call);
        KC_TRY(call->command->run(call, err));
out:
        return status;
}

/* Report a failure. Returns the exit code; kmc's is 1 for any failure. */
static int exit_code(const struct invocation *call, const struct kc_error *err,
                     enum kc_status status)
{
        const bool is_kmc = call->command == NULL;
        char advice[ADVICE_NBYTES];
        if (status == KC_OK)
                return EXIT_SUCCESS;
        signals_die_if_caught(status == KC_ECANCELED);
        if (text_out_pipe_closed(call->out))
                signals_die_by_pipe();
        else if (err->message[0] != '\0') /* otherwise another rank reports the failure */
                message_print("%s: %s%s\n", is_kmc ? "kcount-kmc" : "kcount", err->message,
                              is_kmc ? "" : advice_text(call, err, advice));
        if (is_kmc)
                return EXIT_FAILURE;
        if (status == KC_EUNTIDY)
                return EXIT_UNTIDY;
        if (status == KC_EUSAGE)
                message_print("kcount: see 'kcount %s --help'\n", call->command->name);
        return ranks_verdict(call->ranks, status) == KC_EUSAGE ? EXIT_USAGE : EXIT_FAILURE;
}

/* End the work of a command: the user gets what was written so far, even after a failure. */
static int end(const struct invocation *call, enum kc_status status, struct kc_error *err)
{
        const enum kc_status closed = text_out_close(call->out, err);
        status = ranks_agree(call->ranks, status ? status : closed, err);
        return exit_code(call, err, status);
}

/* Parse argv by command's table and run it; argv[0] is the program's or the command's name. */
static int dispatch(const struct command *command, int argc, char **argv, struct invocation *call)
{
        struct kc_error err = { 0 };
        call->command = command;
        call->words = (const char *const *)argv;
        call->nwords = (size_t)argc;
        return end(call, run(call, argc, argv, &err), &err);
}

static int run_kmc(int argc, char **argv, struct invocation *call)
{
        struct kc_error err = { 0 };
        enum kc_status status = ranks_require_one(call->ranks, "it", &err);
        return end(call, status ? status : kmc_run(call, argc, argv, &err), &err);
}

/* A plain word that is neither a command nor a file is more likely a misspelled command than a
 * file. */
static bool is_misspelt(const char *word)
{
        return strpbrk(word, "./@-") == NULL && access(word, F_OK) != 0;
}

/* With several processes, only the first one prints what does not come from a command. */
static int choose(int argc, char **argv, struct invocation *call)
{
        if (argc > 0 && kmc_is_name(argv[0]))
                return run_kmc(argc, argv, call);
        if (argc < 2) {
                text_out_stderr(call->out);
                if (ranks_is_first(call->ranks))
                        help_overview(call->out);
                text_out_flush(call->out);
                return EXIT_USAGE;
        }
        const struct command *command = command_find(argv[1]);
        if (command)
                return dispatch(command, argc - 1, argv + 1, call);
        bool general = strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0 ||
                       strcmp(argv[1], "--usage") == 0;
        if (general) {
                argv[1] = (char *)command_help.name;
                return dispatch(&command_help, argc - 1, argv + 1, call);
        }
        if (call->ranks == NULL && is_misspelt(argv[1])) { /* other ranks may have the file */
                char advice[SUGGESTION_NBYTES];
                message_print("kcount: no command or file '%s'%s\n", argv[1],
                              suggest_command(argv[1], advice));
                message_print("kcount: see 'kcount help'\n");
                return EXIT_USAGE;
        }
        return dispatch(&command_count, argc, argv, call);
}

/* Whether the user says that there are no other processes. This must be known before kcount looks
 * for any, which it does before it parses the command line. */
static bool is_alone(int argc, char **argv)
{
        for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
                if (strcmp(argv[i], "--no-mpi") == 0)
                        return true;
        return false;
}

static int run_program(int argc, char **argv)
{
        struct invocation call = { .start_seconds = kc_clock_seconds() };
        struct kc_error err = { 0 };
        struct text_out out;
        occupy_standard_descriptors();
        signals_ignore_file_limit();
        message_guard_libraries();
        references_set_up();
        text_out_stdout(&out);
        call.out = &out;
        call.line = shell_join((const char *const *)argv, (size_t)argc);
        if (call.line == NULL) {
                message_print("kcount: out of memory\n");
                return EXIT_FAILURE;
        }
        const bool alone = is_alone(argc, argv);
        const enum kc_status joined = ranks_join(&call.ranks, call.line, alone, &err);
        if (joined != KC_OK) {
                message_print("kcount: %s\n", err.message);
                invocation_free(&call);
                return joined == KC_EUSAGE ? EXIT_USAGE : EXIT_FAILURE;
        }
        const int code = choose(argc, argv, &call);
        invocation_free(&call);
        ranks_leave(call.ranks);
        return code;
}

struct program {
        int argc, code;
        char **argv;
        sigset_t signals; /* blocked when the program starts */
};

static void *run_in_thread(void *arg)
{
        struct program *program = arg;
        pthread_sigmask(SIG_SETMASK, &program->signals, NULL);
        program->code = run_program(program->argc, program->argv);
        return NULL;
}

/*
 * Memory that is freed must go back to the system, or -m could not be kept. By default malloc()
 * stops mapping large blocks once such blocks have been freed; a fixed threshold prevents that, for
 * libraries too. malloc() also reserves 64 MiB of address space per thread, for up to eight threads
 * per core, and these count against a limit on address space (ulimit -v). The threads do not need
 * them: their large blocks are mapped.
 */
static void bound_malloc(void)
{
        mallopt(M_MMAP_THRESHOLD, 128 << 10);
        mallopt(M_ARENA_MAX, 4);
}

/*
 * The program runs on a thread with a stack of known size, because 'ulimit -s' sets the size of the
 * main thread's. All signals go to the other threads.
 */
int main(int argc, char **argv)
{
        struct program program = { .argc = argc, .argv = argv };
        pthread_t thread;
        sigset_t all;
        bound_malloc();
        sigfillset(&all);
        pthread_sigmask(SIG_SETMASK, &all, &program.signals);
        if (kc_thread_create(&thread, run_in_thread, &program) == 0)
                pthread_join(thread, NULL);
        else
                run_in_thread(&program);
        return program.code;
}
