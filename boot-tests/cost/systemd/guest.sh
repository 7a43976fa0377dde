NO_WAIT=yes
