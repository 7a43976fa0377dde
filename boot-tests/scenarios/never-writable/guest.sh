make_writable() { :; }
