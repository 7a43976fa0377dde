"""The parts of GRUB that `apply` needs, laid into a root: a grub.cfg as grub-mkconfig writes it, GRUB's own programs, an environment block. And the
results of `apply`."""
from qemu import payload
from qemu.places import Failed, need, run

PROGRAMS = (("grub-editenv", "usr/bin/grub-editenv"), ("grub-reboot", "usr/sbin/grub-reboot"), ("grub-probe", "usr/sbin/grub-probe"))
# the choice for one boot is undone before anything is booted
CONFIG = """
if [ -s $prefix/grubenv ]; then
  set have_grubenv=true
  load_env
fi
if [ "${next_entry}" ] ; then
   set default="${next_entry}"
   set next_entry=
   save_env next_entry
   set boot_once=true
else
   set default="0"
fi
if [ x"${feature_menuentry_id}" = xy ]; then
  menuentry_id_option="--id"
else
  menuentry_id_option=""
fi
set timeout=0
### BEGIN /etc/grub.d/10_linux ###
menuentry 'Debian GNU/Linux' --class debian $menuentry_id_option 'gnulinux-simple' {
\tlinux\t/boot/vmlinuz-@V@ @WORDS@
\tinitrd\t/boot/initrd.img-@V@
}
### END /etc/grub.d/10_linux ###
### BEGIN /etc/grub.d/41_custom ###
if [ -f  ${config_directory}/custom.cfg ]; then
  source ${config_directory}/custom.cfg
elif [ -z "${config_directory}" -a -f  $prefix/custom.cfg ]; then
  source $prefix/custom.cfg
fi
### END /etc/grub.d/41_custom ###
"""


def lay(tree, version, words):
    """GRUB as it is installed, with one entry: that kernel, with these words on its command line."""
    for name, place in PROGRAMS:
        program = need(name, "grub2-common grub-common")
        with open(program, "rb") as f:
            script = f.read(2) == b"#!"
        if script:
            payload.install(program, tree / place, 0o755)
        else:
            payload.copy_program(program, tree, place)
    payload.install("/usr/share/grub/grub-mkconfig_lib", tree / "usr/share/grub/grub-mkconfig_lib")
    (tree / "boot/grub").mkdir(parents=True, exist_ok=True)
    (tree / "boot/grub/grub.cfg").write_text(CONFIG.replace("@V@", version).replace("@WORDS@", words))
    run("grub-editenv", tree / "boot/grub/grubenv", "create")


def entry_words(tree):
    """The words that the next boot's chosen entry adds to the normal entry's kernel command line."""
    chosen = run("grub-editenv", tree / "boot/grub/grubenv", "list")
    custom = tree / "boot/grub/custom.cfg"
    lines = [line.split() for line in custom.read_text().splitlines()] if custom.exists() else []
    words = next((line for line in lines if line[:1] == ["linux"]), [])
    if "next_entry=autologger\n" not in chosen or "autologger=kernel" not in words:
        raise Failed(f"apply made no entry for one boot: {chosen!r}, {words}")
    return " ".join(words[words.index("autologger=kernel"):])
