#include "autologger/plan/reference.h"

#include "autologger/kernel/tables/flags.h"
#include "autologger/plan/values.h"

static const char *const offers[] = {
    [KERNEL_OFFER_NOW]    = "yes",
    [KERNEL_OFFER_PARTLY] = "in part",
    [KERNEL_OFFER_NONE]   = "no",
};

/* A cell of a table: '|' would end it. */
static void reference_cell(FILE *out, const char *text)
{
    fputs("| ", out);
    for (const char *p = text; *p; p++) {
        if (*p == '|')
            fputc('\\', out);
        fputc(*p, out);
    }
    fputc(' ', out);
}

static void value_line(FILE *out, const struct value_row *row)
{
    char range[64] = "";

    if (row->high)
        snprintf(range, sizeof range, "%llu to %llu", (unsigned long long)row->low, (unsigned long long)row->high);
    reference_cell(out, row->name);
    reference_cell(out, value_type_name(row->type));
    reference_cell(out, row->absent);
    reference_cell(out, range);
    reference_cell(out, row->unit);
    reference_cell(out, value_state_text(row->state));
    reference_cell(out, row->help);
    fputs("|\n", out);
}

static void bit_table(FILE *out, const char *title, const struct value_bit *bits, size_t count)
{
    fprintf(out,
            "\n## %s\n\nNames are joined by `+`.\n\n| Name | Bit | Implemented | What it does, or what happens instead "
            "|\n"
            "|---|---|---|---|\n",
            title);
    for (size_t i = 0; i < count; i++) {
        char bit[16];
        snprintf(bit, sizeof bit, "0x%08x", bits[i].bit);
        reference_cell(out, bits[i].name);
        reference_cell(out, bit);
        reference_cell(out, value_state_text(bits[i].state));
        reference_cell(out, bits[i].help);
        fputs("|\n", out);
    }
}

static void flag_table(FILE *out)
{
    size_t                    count;
    const struct kernel_flag *flags = kernel_flags(&count);

    fputs("\n## Kernel flags\n\nA keyword may name two bits. Flags are written as keywords, or by their symbol where "
          "there is "
          "no keyword.\n\n| Word | Bit | Keyword | Symbol | Enables | Implemented | Linux source, or why there is none "
          "|\n"
          "|---|---|---|---|---|---|---|\n",
          out);
    for (size_t i = 0; i < count; i++) {
        char word[8], bit[16];
        snprintf(word, sizeof word, "%u", flags[i].word);
        snprintf(bit, sizeof bit, "0x%08x", flags[i].bits);
        reference_cell(out, word);
        reference_cell(out, bit);
        reference_cell(out, flags[i].keyword ? flags[i].keyword : "");
        reference_cell(out, flags[i].symbol);
        reference_cell(out, flags[i].what);
        reference_cell(out, offers[flags[i].offer]);
        reference_cell(out, flags[i].source);
        fputs("|\n", out);
    }
}

static void group_table(FILE *out)
{
    size_t                     count;
    const struct kernel_group *groups = kernel_groups(&count);

    fputs("\n## Groups of kernel flags\n\n| Group | Keywords |\n|---|---|\n", out);
    for (size_t i = 0; i < count; i++) {
        char text[512];
        group_mask_format(groups[i].mask, text, sizeof text);
        reference_cell(out, groups[i].name);
        reference_cell(out, text);
        fputs("|\n", out);
    }
}

static void reference_hook_table(FILE *out)
{
    size_t                    count;
    const struct kernel_hook *hooks = kernel_hooks(&count);

    fputs("\n## Stack names\n\n| Name | Hook id | Needs the kernel flag |\n|---|---|---|\n", out);
    for (size_t i = 0; i < count; i++) {
        char id[16];
        snprintf(id, sizeof id, "0x%04x", hooks[i].hook);
        reference_cell(out, hooks[i].name);
        reference_cell(out, id);
        reference_cell(out, hooks[i].enabled_by);
        fputs("|\n", out);
    }
}

void plan_reference(FILE *out)
{
    static const unsigned   scopes[] = {IN_GLOBAL_LOGGER, IN_AUTOLOGGER, IN_PROVIDER, IN_FILTERS, IN_FILTER_PART,
                                        IN_WPP,           IN_BOOT,       IN_WMI,      IN_SET};
    size_t                  count;
    const struct value_bit *bits;

    fputs("# Registry values\n\nMade from the tables of the source by `autologger_plan_reference`; do not edit. Keys "
          "lie below "
          "`HKEY_LOCAL_MACHINE\\SYSTEM\\CurrentControlSet\\Control\\WMI`. A value of another type than the one named "
          "here, where "
          "the value is read, is Status 87; but a REG_DWORD is taken for a REG_QWORD.\n",
          out);
    for (size_t s = 0; s < sizeof scopes / sizeof *scopes; s++) {
        fprintf(out,
                "\n## %s\n\n| Value | Type | When absent | Range | Unit | Implemented | Meaning |\n"
                "|---|---|---|---|---|---|---|\n",
                value_scope_name(scopes[s]));
        for (size_t i = 0; i < VALUE_COUNT; i++)
            if (value_rows[i].scopes & scopes[s])
                value_line(out, &value_rows[i]);
    }
    bits = mode_bits(&count);
    bit_table(out, "LogFileMode", bits, count);
    bits = property_bits(&count);
    bit_table(out, "EnableProperty", bits, count);
    flag_table(out);
    group_table(out);
    reference_hook_table(out);
}
