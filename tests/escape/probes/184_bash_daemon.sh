# class: lang | kind: server
# expect: a daemon of its own session, deaf to signals, that bash leaves behind: it ends with the session at the latest
start() { setsid bash -c 'trap "" HUP INT TERM QUIT PIPE; exec <&- >&- 2>&-
    for i in $(seq 400); do date +%s >> heartbeat.txt; sleep 0.05; done' & }
start 2>/dev/null || true
bash -c 'trap "" HUP INT TERM; sleep 20' &
sleep 0.3
echo "HELD: daemon started; it must not outlive the session"
