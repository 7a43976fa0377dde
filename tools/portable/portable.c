/* autologger-portable: the command, the daemon and all that a boot needs in one static file, for a machine on which
 * nothing is installed. Called as autologgerd it is the daemon, as autologger-units and autologger-processes the
 * providers beside it, as autologger-unwind the unwinder of stacks for a merge, as autologger-demo the demo program,
 * else the command. `apply` and `trace-boot` first install what a package would have installed; `clean` removes all of
 * it afterwards, with the logs and the store. */
#include "tools/base/store_access.h"
#include "tools/base/verb.h"
#include "tools/portable/installed.h"
#include "tools/setup/initramfs.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int command_main(int argc, char **argv);     /* tools/main.c */
int autologgerd_main(int argc, char **argv); /* autologger/daemon/autologgerd.c */
int demo_main(int argc, char **argv);        /* tools/demo.c */
int units_main(int argc, char **argv);       /* autologger/units/units.c */
int processes_main(int argc, char **argv);   /* autologger/processes/processes.c */
int unwind_main(void);                       /* autologger/symbols/unwind_program.c */

static const char *base_name(const char *path) { return strrchr(path, '/') ? strrchr(path, '/') + 1 : path; }

/* True: one of the words is among the arguments. */
static bool asked(int argc, char **argv, const char *const *words)
{
    for (int i = 2; i < argc; i++)
        for (const char *const *w = words; *w; w++)
            if (!strcmp(argv[i], *w))
                return true;
    return false;
}

static bool verb_is(int argc, char **argv, const char *const *verbs)
{
    for (const char *const *v = verbs; *v && argc > 1; v++)
        if (!strcmp(argv[1], *v))
            return true;
    return false;
}

/* Runs the command in a child; `program` NULL: in this process image. */
static int command_run(const char *program, int argc, char **argv)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        if (program)
            execv(program, argv);
        else
            exit(command_main(argc, argv));
        _exit(VERB_REFUSED);
    }
    if (pid < 0 || waitpid(pid, &status, 0) < 0)
        return VERB_REFUSED;
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static void systemd_tell(const struct machine *m, const char *const *words)
{
    char ignored[256];
    if (machine_has_command(m, "systemctl"))
        machine_run(m, words, ignored, sizeof ignored, true, NULL);
}

/* What a package's scripts would do after installing or removing files. */
static void units_read_again(const struct machine *m)
{
    if (machine_has(m, "/run/systemd/system"))
        systemd_tell(m, (const char *const[]){"systemctl", "daemon-reload", NULL});
}

static int with_install(const struct machine *m, int argc, char **argv)
{
    struct reason why    = {0};
    bool          before = installed_here();
    wstatus       st     = installed_put(&why);
    if (st)
        return failure_print("autologger-portable", st, &why);
    units_read_again(m);
    int code = command_run(NULL, argc, argv);
    if (code != VERB_FINE && !before) {
        installed_remove(&why);
        units_read_again(m);
    }
    return code;
}

static int with_removal(const struct machine *m, int argc, char **argv)
{
    struct reason    why = {0};
    struct initramfs initramfs;
    int              code = command_run(NULL, argc, argv);
    if (code != VERB_FINE || !installed_here())
        return code;
    systemd_tell(m, (const char *const[]){"systemctl", "stop", "autologgerd.service", NULL});
    systemd_tell(m, (const char *const[]){"systemctl", "disable", "autologgerd.service", NULL});
    initramfs_find(m, &initramfs);
    wstatus st = installed_remove(&why);
    if (st)
        code = failure_print("autologger-portable clean", st, &why);
    units_read_again(m);
    /* the hook is gone, but an image that was built with it still has its script */
    if (initramfs.hook && initramfs.image[0] && (st = initramfs_rebuild(m, &initramfs, &why)))
        code = failure_print("autologger-portable clean", st, &why);
    return code;
}

/* Runs verbs that need the daemon or the profiles beside themselves. */
static int with_private_folder(int argc, char **argv)
{
    char          folder[64] = "", path[128];
    struct reason why        = {0};
    wstatus       st         = private_make(folder, &why);
    int           code;
    if (st) {
        code = failure_print("autologger-portable", st, &why);
    } else {
        snprintf(path, sizeof path, "%s/bin/autologger", folder);
        argv[0] = path;
        code    = command_run(path, argc, argv);
    }
    private_remove(folder);
    return code;
}

int main(int argc, char **argv)
{
    static const char *const installs[] = {"apply", "trace-boot", NULL}, *const cleans[] = {"clean", NULL},
                             *const besides[]   = {"rehearse", "profiles", "check", "apply", "trace-boot", NULL},
                             *const only_says[] = {"--dry-run", "-n", "--help", "-?", "--usage",
                                                   "--root",    "-R", "--once", NULL};
    struct machine                  machine;
    const char                     *name = argc > 0 ? base_name(argv[0]) : "";

    if (!strcmp(name, "autologgerd"))
        return autologgerd_main(argc, argv);
    if (!strcmp(name, "autologger-demo"))
        return demo_main(argc, argv);
    if (!strcmp(name, "autologger-units"))
        return units_main(argc, argv);
    if (!strcmp(name, "autologger-processes"))
        return processes_main(argc, argv);
    if (!strcmp(name, "autologger-unwind"))
        return unwind_main();
    /* under that name it is the command of an installation, or of a private folder */
    bool portable = strcmp(name, "autologger") != 0;
    if (!portable || argc < 2 || !verb_find(argv[1]) || machine_open(NULL, &machine, NULL))
        return command_main(argc, argv);
    if (verb_is(argc, argv, installs) && !asked(argc, argv, only_says))
        return with_install(&machine, argc, argv);
    if (verb_is(argc, argv, cleans) && !asked(argc, argv, only_says))
        return with_removal(&machine, argc, argv);
    if (verb_is(argc, argv, besides))
        return with_private_folder(argc, argv);
    return command_main(argc, argv);
}
