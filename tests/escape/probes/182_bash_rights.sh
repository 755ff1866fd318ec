# class: lang | kind: self
# expect: bash is a child in the same jail: no caps, nnp, seccomp, no socket of the engine, no network (/dev/tcp), no namespaces
bad=""
field() { sed -n "s/^$1:[[:space:]]*//p" /proc/self/status; }
for name in CapInh CapPrm CapEff CapBnd CapAmb; do
    case $(field $name) in *[!0]*) bad="$bad $name" ;; esac
done
# Where a child may not look at itself, the session cannot either.
[ "$(field NoNewPrivs)" = 0 ] && bad="$bad NoNewPrivs"
case $(field Seccomp) in 0 | 1) bad="$bad Seccomp" ;; esac
[ "$(id -u)" = 0 ] && bad="$bad uid0"
(exec 3<>/dev/tcp/127.0.0.1/47999) 2>/dev/null && bad="$bad tcp"
(exec 3<>/dev/udp/127.0.0.1/47999) 2>/dev/null && bad="$bad udp"
unshare -U true 2>/dev/null && bad="$bad userns"
for fd in /proc/$$/fd/*; do
    case $(readlink "$fd") in socket:*) bad="$bad socket:$fd" ;; esac
done
: 2>/dev/null < /etc/shadow && bad="$bad shadow"
if [ -n "$bad" ]; then echo "ESCAPED:$bad"; else echo "HELD: no caps, nnp, seccomp, no network"; fi
