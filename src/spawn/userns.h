/* userns.h -- a user namespace of our own, for a spawner that is not root. */
#ifndef SPAWN_USERNS_H
#define SPAWN_USERNS_H

/* Moves this process into a new user namespace, together with the namespaces of `more` (CLONE_NEW*),
 * and makes it root there. Returns 0 or the errno. */
int userns_enter(int more);

#endif
