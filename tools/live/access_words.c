#include "tools/live/access_words.h"

#include "autologger/control/access.h"
#include "autologger/wire/control.h"

#include <errno.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *word;
    uint32_t    right;
} rights[] = {
    {"query", ACCESS_QUERY},        {"realtime", ACCESS_CREATE_REALTIME}, {"ondisk", ACCESS_CREATE_ONDISK},
    {"enable", ACCESS_GUID_ENABLE}, {"kernel", ACCESS_KERNEL_LOGGER},     {"log", ACCESS_LOG_EVENT},
    {"consume", ACCESS_REALTIME},   {"register", ACCESS_REGISTER_GUIDS},  {"join", ACCESS_JOIN_GROUP},
};
enum { RIGHTS = sizeof rights / sizeof *rights };

static const struct {
    const char *word, *sid;
} access_words_known[] = {{"root", "S-1-5-18"}, {"everyone", "S-1-1-0"}, {"group:autologger", "S-1-5-32-559"}};

static const struct {
    const char *word;
    struct guid guid;
} objects[] = {
    {"default", {0x0811c1af, 0x7a07, 0x4a06, {0x82, 0xed, 0x86, 0x94, 0x55, 0xcd, 0xf7, 0x13}}},
    {"kernel", CTL_SYSTEM_TRACE},
};

const char *access_object_name(const struct guid *object)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (guid_equal(&objects[i].guid, object))
            return objects[i].word;
    return NULL;
}

bool access_object_parse(const char *name, struct guid *out)
{
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        if (strcmp(objects[i].word, name) == 0) {
            *out = objects[i].guid;
            return true;
        }
    return false;
}

/* ---- names of users and groups ---- */

/* Read from the files: a static program has no name service. Finds a user by name, or by id (`name` NULL); its name
 * goes to `out` unless that is NULL. */
static bool user_find(const char *name, uint32_t *id, char *out, size_t size)
{
    FILE *f     = fopen("/etc/passwd", "re");
    bool  found = false;
    for (struct passwd *p; f && !found && (p = fgetpwent(f));)
        if (name ? strcmp(p->pw_name, name) == 0 : p->pw_uid == *id) {
            *id   = p->pw_uid;
            found = true;
            if (out)
                snprintf(out, size, "%s", p->pw_name);
        }
    if (f)
        fclose(f);
    return found;
}

static bool group_find(const char *name, uint32_t *id, char *out, size_t size)
{
    FILE *f     = fopen("/etc/group", "re");
    bool  found = false;
    for (struct group *g; f && !found && (g = fgetgrent(f));)
        if (name ? strcmp(g->gr_name, name) == 0 : g->gr_gid == *id) {
            *id   = g->gr_gid;
            found = true;
            if (out)
                snprintf(out, size, "%s", g->gr_name);
        }
    if (f)
        fclose(f);
    return found;
}

static bool access_words_number(const char *text, uint32_t *out)
{
    char *end;
    errno           = 0;
    unsigned long n = strtoul(text, &end, 0);
    *out            = (uint32_t)n;
    return *text >= '0' && *text <= '9' && !*end && !errno && n < UINT32_MAX;
}

static wstatus who_parse(const char *text, struct sid *out, struct reason *why)
{
    uint32_t id;
    for (size_t i = 0; i < sizeof access_words_known / sizeof *access_words_known; i++)
        if (strcmp(text, access_words_known[i].word) == 0)
            return sid_parse(access_words_known[i].sid, out) ? W_SUCCESS : W_INVALID_PARAMETER;
    if (strncmp(text, "group:", 6) == 0) {
        if (!access_words_number(text + 6, &id) && !group_find(text + 6, &id, NULL, 0))
            return reason_set(why, W_INVALID_PARAMETER, "there is no group \"%s\" in /etc/group. Do: give its number",
                              text + 6);
        *out = sid_of_group(id);
        return W_SUCCESS;
    }
    if (sid_parse(text, out))
        return W_SUCCESS;
    if (!access_words_number(text, &id) && !user_find(text, &id, NULL, 0))
        return reason_set(
            why, W_INVALID_PARAMETER,
            "there is no user \"%s\" in /etc/passwd. Do: give a number, or write group:NAME, everyone, root "
            "or a SID",
            text);
    *out = sid_of_user(id);
    return W_SUCCESS;
}

const char *access_who(const struct sid *s, char out[ACCESS_WHO])
{
    char     text[SID_TEXT];
    uint32_t id;
    sid_format(s, text);
    for (size_t i = 0; i < sizeof access_words_known / sizeof *access_words_known; i++)
        if (strcmp(text, access_words_known[i].sid) == 0) {
            snprintf(out, ACCESS_WHO, "%s", access_words_known[i].word);
            return out;
        }
    if (sid_is_user(s, &id) && !user_find(NULL, &id, out, ACCESS_WHO))
        snprintf(out, ACCESS_WHO, "%u", id);
    else if (sid_is_group(s, &id)) {
        memcpy(out, "group:", 7);
        if (!group_find(NULL, &id, out + 6, ACCESS_WHO - 6))
            snprintf(out + 6, ACCESS_WHO - 6, "%u", id);
    } else if (!sid_is_user(s, &id))
        snprintf(out, ACCESS_WHO, "%s", text);
    return out;
}

/* ---- rights ---- */

const char *access_rights(uint32_t bits, char out[ACCESS_RIGHTS])
{
    size_t n = 0;
    if ((bits & ACCESS_ALL) == ACCESS_ALL) {
        snprintf(out, ACCESS_RIGHTS, "all");
        return out;
    }
    *out = 0;
    for (size_t i = 0; i < RIGHTS && n < ACCESS_RIGHTS; i++)
        if (bits & rights[i].right) {
            n += (size_t)snprintf(out + n, ACCESS_RIGHTS - n, "%s%s", n ? "," : "", rights[i].word);
            bits &= ~rights[i].right;
        }
    if (bits && n < ACCESS_RIGHTS)
        snprintf(out + n, ACCESS_RIGHTS - n, "%s0x%x", n ? "," : "", bits);
    return out;
}

static wstatus rights_parse(char *text, uint32_t *out, struct reason *why)
{
    char *save = NULL;
    *out       = 0;
    for (char *word = strtok_r(text, ",", &save); word; word = strtok_r(NULL, ",", &save)) {
        uint32_t bits = strcmp(word, "all") == 0 ? ACCESS_ALL : 0;
        for (size_t i = 0; i < RIGHTS; i++)
            bits |= strcmp(word, rights[i].word) == 0 ? rights[i].right : 0;
        if (!bits && (!access_words_number(word, &bits) || !bits || bits & ~(uint32_t)ACCESS_ALL))
            return reason_set(
                why, W_INVALID_PARAMETER,
                "there is no right \"%s\". Do: query, realtime, ondisk, enable, log, consume, register, join "
                "or all, joined by commas",
                word);
        *out |= bits;
    }
    return *out ? W_SUCCESS
                : reason_set(why, W_INVALID_PARAMETER, "no right is named. Do: write for example alice=log");
}

wstatus access_entry_parse(const char *text, struct security_entry *out, struct reason *why)
{
    char        copy[ACCESS_WHO + ACCESS_RIGHTS];
    const char *split = strrchr(text, '=');
    if (!split || strlen(text) >= sizeof copy)
        return reason_set(why, W_INVALID_PARAMETER, "\"%.100s\" is not WHO=RIGHTS. Do: write for example alice=log",
                          text);
    snprintf(copy, sizeof copy, "%s", text);
    copy[split - text] = 0;
    wstatus st         = who_parse(copy, &out->who, why);
    return st ? st : rights_parse(copy + (split - text) + 1, &out->rights, why);
}
