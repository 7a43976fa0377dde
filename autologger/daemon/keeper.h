/* keeper.h - the small parent that holds a daemon's descriptors (systemd's fd store where there is no systemd).
 * It starts the daemon, keeps every descriptor given to it (perf rings also mapped: a ring dies with its last mapping), and
 * when the daemon dies by a signal starts a new one with them. It allocates little and parses little, so that it survives.
 * Threads: one. Not for: anything else. */
#ifndef AUTOLOGGER_DAEMON_KEEPER_H
#define AUTOLOGGER_DAEMON_KEEPER_H

/* Runs argv (argv[0] a path) as the daemon until it ends by itself; returns its exit code, or 111 when it could not be started
 * or died too often (more than 20 times within 5 s). SIGTERM and SIGINT are passed on. `socket_path`: where to listen for descriptors. */
int keeper_run(const char *socket_path, char **argv);
#endif
