#include "app/help.h"

struct help_settings {
        bool man;
};

static enum kc_status run_help(const struct invocation *call, struct kc_error *err)
{
        const struct help_settings *settings = call->settings;
        if (settings->man) {
                help_manual(call->out);
                return KC_OK;
        }
        if (call->noperands == 0) {
                help_overview(call->out);
                return KC_OK;
        }
        const struct command *command = command_find(call->operands[0]);
        if (command == NULL)
                return kc_fail(err, KC_EUSAGE, "there is no command '%s'", call->operands[0]);
        help_command(call->out, command);
        return KC_OK;
}

static const struct option_spec help_options[] = {
        { .type = OPTION_FLAG,
          .name = "man",
          .offset = offsetof(struct help_settings, man),
          .help = "Print the manual page.",
          .hidden = true },
        { 0 },
};

const struct command command_help = {
        .name = "help",
        .run = run_help,
        .operands = "[COMMAND]",
        .summary = "Print help, on all commands or on one",
        .description = "The same as COMMAND --help.",
        .options = help_options,
        .settings_nbytes = sizeof(struct help_settings),
        .max_operands = 1,
};
