#include "app/cli/help.h"
#include "app/cli/suggest.h"
#include "app/count/ranks.h"

struct help_settings {
        int completion; /* enum help_shell; 0: not given */
        bool man;
};

static enum kc_status run_help(const struct invocation *call, struct kc_error *err)
{
        const struct help_settings *settings = call->settings;
        if (!ranks_is_first(call->ranks))
                return KC_OK;
        if (settings->man) {
                help_manual(call->out);
                return KC_OK;
        }
        if (settings->completion != 0) {
                help_completion(call->out, (enum help_shell)settings->completion);
                return KC_OK;
        }
        if (call->noperands == 0) {
                help_overview(call->out);
                return KC_OK;
        }
        const struct command *command = command_find(call->operands[0]);
        char advice[SUGGESTION_NBYTES];
        if (command == NULL)
                return kc_fail(err, KC_EUSAGE, "there is no command '%s'%s", call->operands[0],
                               suggest_command(call->operands[0], advice));
        help_command(call->out, command);
        return KC_OK;
}

static const struct option_spec help_options[] = {
        OPTION(WORD, "completion", offsetof(struct help_settings, completion),
               "Print a script for bash, zsh or fish that completes commands, options and names "
               "of files. The installation puts it where the shell looks for it.",
               .argument = "SHELL", .words = "bash zsh fish"),
        OPTION(FLAG, "man", offsetof(struct help_settings, man), "Print the manual page.",
               .hidden = true),
        { 0 },
};

const struct command command_help = {
        .name = "help",
        .run = run_help,
        .operands = "[COMMAND]",
        .summary = "Print help, on all commands or on one",
        .description = "The same as COMMAND --help.",
        .examples = "  source <(kcount help --completion bash)\n"
                    "  kcount help --completion fish > ~/.config/fish/completions/kcount.fish\n",
        .options = help_options,
        .settings_nbytes = sizeof(struct help_settings),
        .by_ranks = true,
        .max_operands = 1,
        .for_more = "one command",
};
