"""The user that the agent runs as, when that is not ours (`--user`)."""

from __future__ import annotations

import os

from agent_wrap.errors import UsageError


class Identity:
    """A user and its groups; `environment` is what a login would set."""

    def __init__(self, uid: int, gid: int, groups: list[int], name: str, home: str):
        self.uid = uid
        self.gid = gid
        self.groups = groups
        self.environment = {"HOME": home, "USER": name, "LOGNAME": name}

    def take(self) -> None:
        """Become this user for good. Raises OSError."""
        os.setgroups(self.groups)
        os.setgid(self.gid)
        os.setuid(self.uid)


def find_identity(text: str) -> Identity:
    """Read `USER[:GROUP]`, names or numbers. Raises UsageError."""
    import grp
    import pwd

    if os.geteuid() != 0:
        raise UsageError(
            "--user needs to be started as root", "Start as root, or leave --user out"
        )
    user, _, group = text.partition(":")
    try:
        found = pwd.getpwuid(int(user)) if user.isdigit() else pwd.getpwnam(user)
        uid, gid, name, home = (
            found.pw_uid,
            found.pw_gid,
            found.pw_name,
            found.pw_dir,
        )
    except OverflowError:
        raise UsageError(f"--user: no user has the number {user}") from None
    except KeyError:
        if not user.isdigit():
            raise UsageError(f"--user: no such user: {user!r}") from None
        uid, gid, name, home = int(user), int(user), user, "/"
    try:
        if group:
            number = group.isdigit()
            gid = int(group) if number else grp.getgrnam(group).gr_gid
    except KeyError:
        raise UsageError(f"--user: no such group: {group!r}") from None
    return Identity(uid, gid, os.getgrouplist(name, gid), name, home)
