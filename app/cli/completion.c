/*
 * Completion of command lines in bash, zsh and fish, generated from the tables of commands and
 * options. Each script has a fixed part, which finds the command on the line, and a part with lists
 * for each command.
 */
#include "app/cli/help.h"

#include <stdio.h>
#include <string.h>

/* ---- what may stand in a place ---- */

enum value_kind {
        VALUE_NONE,  /* a number, or other text that cannot be guessed */
        VALUE_WORDS, /* one of option_spec.words */
        VALUE_FILE,
        VALUE_STORE, /* a .kc file */
        VALUE_FOLDER,
        VALUE_COMMAND,
};

static bool ends_with(const char *text, const char *end)
{
        const size_t n = strlen(text), m = strlen(end);
        return n >= m && strcmp(text + n - m, end) == 0;
}

static enum value_kind option_kind(const struct option_spec *spec)
{
        if (spec->words != NULL)
                return VALUE_WORDS;
        if (spec->type != OPTION_TEXT && spec->type != OPTION_OUTPUT &&
            spec->type != OPTION_OUTPUTS && spec->type != OPTION_INPUTS)
                return VALUE_NONE;
        if (strcmp(spec->argument, "DIR") == 0)
                return VALUE_FOLDER;
        if (strcmp(spec->argument, "FILE") == 0 || strcmp(spec->argument, "NAME") == 0 ||
            ends_with(spec->argument, ".kc"))
                return VALUE_FILE;
        return VALUE_NONE;
}

/* For a command that takes reads as well as a .kc file, offer the names of all files. */
static enum value_kind operand_kind(const struct command *command)
{
        if (strcmp(command->operands, "[COMMAND]") == 0)
                return VALUE_COMMAND;
        if (strstr(command->operands, "FILE...") == NULL &&
            strstr(command->operands, "READS") == NULL && strstr(command->operands, "FILE.kc"))
                return VALUE_STORE;
        return VALUE_FILE;
}

/* ---- text in quotes ---- */

/* Print the first sentence of text within single quotes of a shell. quote: what stands for a single
 * quote; special: letters that get a backslash. */
static void put_sentence(struct text_out *out, const char *text, const char *quote,
                         const char *special)
{
        const size_t n = help_sentence_length(text);
        for (size_t i = 0; i < n; i++) {
                if (strchr(special, text[i]) != NULL)
                        text_out_puts(out, "\\");
                if (text[i] == '\'')
                        text_out_puts(out, quote);
                else
                        text_out_write(out, text + i, 1);
        }
}

static void put_command_names(struct text_out *out)
{
        for (const struct command *const *c = command_table; *c; c++)
                text_out_printf(out, "%s%s", c == command_table ? "" : " ", (*c)->name);
}

/* ---- bash ---- */

static const char bash_title[] =
        "# Completion of kcount in bash. Made by 'kcount help --completion bash'; do not edit.\n"
        "\n"
        "_kcount_commands='";

static const char bash_head[] =
        "'\n"
        "\n"
        "# Set options, operands and value: what the command $1 takes, and what follows its option"
        " $2.\n"
        "_kcount_lists()\n"
        "{\n"
        "        case $1 in\n";

static const char bash_middle[] = "        esac\n"
                                  "        case \"$1 $2\" in\n";

static const char bash_tail[] =
        "        esac\n"
        "}\n"
        "\n"
        "# Offer what is of kind $1, which is a word with a colon, or words themselves.\n"
        "_kcount_offer()\n"
        "{\n"
        "        case $1 in\n"
        "        :none) ;;\n"
        "        :file) mapfile -t COMPREPLY < <(compgen -f -- \"$cur\") ;;\n"
        "        :folder) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\") ;;\n"
        "        :store) mapfile -t COMPREPLY < <(compgen -d -- \"$cur\"\n"
        "                compgen -f -X '!*.kc' -- \"$cur\") ;;\n"
        "        :first) mapfile -t COMPREPLY < <(compgen -W \"$_kcount_commands\" -- \"$cur\"\n"
        "                compgen -f -- \"$cur\") ;;\n"
        "        *) mapfile -t COMPREPLY < <(compgen -W \"$1\" -- \"$cur\") ;;\n"
        "        esac\n"
        "        # Quotes names; readline's own completion knows names that are quoted already.\n"
        "        [[ $1 == :f* || $1 == :store ]] && compopt -o filenames -o default 2>/dev/null\n"
        "}\n"
        "\n"
        "_kcount()\n"
        "{\n"
        "        local cur=${COMP_WORDS[COMP_CWORD]} prev=${COMP_WORDS[COMP_CWORD-1]}\n"
        "        local command=count options operands value=\n"
        "        COMPREPLY=()\n"
        "        # --option=value is three words\n"
        "        if [[ $cur == = ]]; then\n"
        "                cur=\n"
        "        elif [[ $prev == = ]]; then\n"
        "                prev=${COMP_WORDS[COMP_CWORD-2]}\n"
        "        fi\n"
        "        if ((COMP_CWORD > 1)) &&"
        " [[ \" $_kcount_commands \" == *\" ${COMP_WORDS[1]} \"* ]]; then\n"
        "                command=${COMP_WORDS[1]}\n"
        "        fi\n"
        "        _kcount_lists \"$command\" \"$prev\"\n"
        "        if [[ $value ]]; then\n"
        "                _kcount_offer \"$value\"\n"
        "        elif [[ $cur == -* ]]; then\n"
        "                _kcount_offer \"$options\"\n"
        "        elif ((COMP_CWORD == 1)); then\n"
        "                _kcount_offer :first\n"
        "        else\n"
        "                _kcount_offer \"$operands\"\n"
        "        fi\n"
        "}\n"
        "\n"
        "complete -F _kcount kcount\n";

static void bash_put_kind(struct text_out *out, enum value_kind kind, const char *words)
{
        static const char *const names[] = { [VALUE_NONE] = ":none",
                                             [VALUE_FILE] = ":file",
                                             [VALUE_STORE] = ":store",
                                             [VALUE_FOLDER] = ":folder",
                                             [VALUE_COMMAND] = "$_kcount_commands" };
        text_out_puts(out, kind == VALUE_WORDS ? words : names[kind]);
}

static void bash_put_names(struct text_out *out, const struct option_spec *specs)
{
        for (const struct option_spec *s = specs; s->type != OPTION_END; s++) {
                if (!help_shows(s))
                        continue;
                if (s->letter)
                        text_out_printf(out, "-%c ", s->letter);
                text_out_printf(out, "--%s ", s->name);
        }
}

static void bash_put_options(struct text_out *out, const struct command *command)
{
        text_out_printf(out, "        %s)\n                options='", command->name);
        bash_put_names(out, command->options);
        bash_put_names(out, general_options);
        text_out_puts(out, "'\n                operands=\"");
        bash_put_kind(out, operand_kind(command), NULL);
        text_out_puts(out, "\"\n                ;;\n");
}

static void bash_put_values(struct text_out *out, const struct command *command)
{
        for (const struct option_spec *s = command->options; s->type != OPTION_END; s++) {
                if (s->hidden || s->argument == NULL)
                        continue;
                text_out_puts(out, "        ");
                if (s->letter)
                        text_out_printf(out, "'%s -%c' | ", command->name, s->letter);
                text_out_printf(out, "'%s --%s') value='", command->name, s->name);
                bash_put_kind(out, option_kind(s), s->words);
                text_out_puts(out, "' ;;\n");
        }
}

static void put_bash(struct text_out *out)
{
        text_out_puts(out, bash_title);
        put_command_names(out);
        text_out_puts(out, bash_head);
        for (const struct command *const *c = command_table; *c; c++)
                bash_put_options(out, *c);
        text_out_puts(out, bash_middle);
        for (const struct command *const *c = command_table; *c; c++)
                bash_put_values(out, *c);
        text_out_puts(out, bash_tail);
}

/* ---- zsh ---- */

/* Between single quotes, where a colon ends a part and brackets enclose the description. */
static void zsh_put_sentence(struct text_out *out, const char *text)
{
        put_sentence(out, text, "'\\''", ":[]\\");
}

static void zsh_put_kind(struct text_out *out, enum value_kind kind, const char *words)
{
        static const char *const actions[] = { [VALUE_NONE] = " ",
                                               [VALUE_FILE] = "_files",
                                               [VALUE_STORE] = "_files -g \"*.kc\"",
                                               [VALUE_FOLDER] = "_files -/",
                                               [VALUE_COMMAND] = "_kcount_commands" };
        if (kind != VALUE_WORDS) {
                text_out_puts(out, actions[kind]);
                return;
        }
        text_out_puts(out, "(");
        text_out_puts(out, words);
        text_out_puts(out, ")");
}

static void zsh_put_option(struct text_out *out, const struct option_spec *spec)
{
        const bool valued = spec->argument != NULL;
        text_out_puts(out, " \\\n                        ");
        if (spec->letter)
                text_out_printf(out, "'(-%c --%s)'{-%c%s,--%s%s}", spec->letter, spec->name,
                                spec->letter, valued ? "+" : "", spec->name, valued ? "=" : "");
        else
                text_out_printf(out, "--%s%s", spec->name, valued ? "=" : "");
        text_out_puts(out, "'[");
        zsh_put_sentence(out, spec->help);
        text_out_puts(out, "]");
        if (valued) {
                text_out_printf(out, ":%s:", spec->argument);
                zsh_put_kind(out, option_kind(spec), spec->words);
        }
        text_out_puts(out, "'");
}

static void zsh_put_options(struct text_out *out, const struct option_spec *specs)
{
        for (const struct option_spec *s = specs; s->type != OPTION_END; s++)
                if (help_shows(s))
                        zsh_put_option(out, s);
}

static void zsh_put_command(struct text_out *out, const struct command *command)
{
        text_out_printf(out, "        %s)\n                _arguments -s -S", command->name);
        zsh_put_options(out, command->options);
        zsh_put_options(out, general_options);
        text_out_puts(out, " \\\n                        '*:argument:");
        zsh_put_kind(out, operand_kind(command), NULL);
        text_out_puts(out, "'\n                ;;\n");
}

static const char zsh_head[] =
        "#compdef kcount\n"
        "# Completion of kcount in zsh. Made by 'kcount help --completion zsh'; do not edit.\n"
        "\n"
        "_kcount_commands()\n"
        "{\n"
        "        local -a commands=(\n";

static const char zsh_middle[] =
        "        )\n"
        "        _describe -t commands command commands\n"
        "}\n"
        "\n"
        "_kcount()\n"
        "{\n"
        "        local command=count\n"
        "        if ((CURRENT == 2)) && [[ $words[2] != -* ]]; then\n"
        "                _alternative 'commands:command:_kcount_commands' 'files:file:_files'\n"
        "                return\n"
        "        fi\n"
        "        if ((CURRENT > 2)) && [[ \" ";

static const char zsh_cases[] = " \" == *\" $words[2] \"* ]]; then\n"
                                "                command=$words[2]\n"
                                "                shift words\n"
                                "                ((CURRENT--))\n"
                                "        fi\n"
                                "        case $command in\n";

static const char zsh_tail[] = "        esac\n"
                               "}\n"
                               "\n"
                               "# Run as a file of $fpath, or with 'source'.\n"
                               "if [[ $funcstack[1] == _kcount ]]; then\n"
                               "        _kcount \"$@\"\n"
                               "else\n"
                               "        compdef _kcount kcount\n"
                               "fi\n";

static void put_zsh(struct text_out *out)
{
        text_out_puts(out, zsh_head);
        for (const struct command *const *c = command_table; *c; c++) {
                text_out_printf(out, "                '%s:", (*c)->name);
                zsh_put_sentence(out, (*c)->summary);
                text_out_puts(out, "'\n");
        }
        text_out_puts(out, zsh_middle);
        put_command_names(out);
        text_out_puts(out, zsh_cases);
        for (const struct command *const *c = command_table; *c; c++)
                zsh_put_command(out, *c);
        text_out_puts(out, zsh_tail);
}

/* ---- fish ---- */

static void fish_put_sentence(struct text_out *out, const char *text)
{
        text_out_puts(out, " -d '");
        put_sentence(out, text, "\\'", "\\");
        text_out_puts(out, "'\n");
}

static void fish_put_kind(struct text_out *out, enum value_kind kind, const char *words)
{
        static const char *const actions[] = {
                [VALUE_NONE] = "-x",
                [VALUE_FILE] = "-r -F",
                [VALUE_STORE] = "-f -k -a '(__fish_complete_suffix .kc)'",
                [VALUE_FOLDER] = "-x -a '(__fish_complete_directories)'",
                [VALUE_COMMAND] = "-f -a \"$__kcount_commands\"",
        };
        if (kind != VALUE_WORDS) {
                text_out_printf(out, " %s", actions[kind]);
                return;
        }
        text_out_puts(out, " -x -a '");
        text_out_puts(out, words);
        text_out_puts(out, "'");
}

/* condition: what must hold for the options, as an argument of complete; or "" */
static void fish_put_options(struct text_out *out, const char *condition,
                             const struct option_spec *specs)
{
        for (const struct option_spec *s = specs; s->type != OPTION_END; s++) {
                if (!help_shows(s))
                        continue;
                text_out_printf(out, "complete -c kcount%s", condition);
                if (s->letter)
                        text_out_printf(out, " -s %c", s->letter);
                text_out_printf(out, " -l %s", s->name);
                if (s->argument != NULL)
                        fish_put_kind(out, option_kind(s), s->words);
                fish_put_sentence(out, s->help);
        }
}

static void fish_put_command(struct text_out *out, const struct command *command)
{
        char condition[64];
        const char *name = command->name;
        text_out_printf(out, "\ncomplete -c kcount -n __kcount_is_first -a %s", name);
        fish_put_sentence(out, command->summary);
        if (operand_kind(command) != VALUE_FILE) {
                text_out_printf(out, "complete -c kcount -n '__kcount_is %s'", name);
                fish_put_kind(out, operand_kind(command), NULL);
                text_out_puts(out, "\n");
        }
        snprintf(condition, sizeof condition, " -n '__kcount_is %s'", name);
        fish_put_options(out, condition, command->options);
}

static const char fish_head[] =
        "# Completion of kcount in fish. Made by 'kcount help --completion fish'; do not edit.\n"
        "\n"
        "set -g __kcount_commands ";

static const char fish_functions[] =
        "\n"
        "\n"
        "function __kcount_is_first\n"
        "    test (count (commandline -opc)) -eq 1\n"
        "end\n"
        "\n"
        "# Whether the command is $argv: the first word, or count if that is no command.\n"
        "function __kcount_is\n"
        "    set -l words (commandline -opc)\n"
        "    set -l command count\n"
        "    if set -q words[2]; and contains -- $words[2] $__kcount_commands\n"
        "        set command $words[2]\n"
        "    end\n"
        "    test $command = $argv\n"
        "end\n"
        "\n";

static void put_fish(struct text_out *out)
{
        text_out_puts(out, fish_head);
        put_command_names(out);
        text_out_puts(out, fish_functions);
        fish_put_options(out, "", general_options);
        for (const struct command *const *c = command_table; *c; c++)
                fish_put_command(out, *c);
}

void help_completion(struct text_out *out, enum help_shell shell)
{
        if (shell == HELP_BASH)
                put_bash(out);
        else if (shell == HELP_ZSH)
                put_zsh(out);
        else
                put_fish(out);
}
