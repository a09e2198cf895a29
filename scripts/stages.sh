# Sourced by scripts/test and scripts/quickstart: stages with times, logs and one clear line on failure.

stage_began=$SECONDS
stage_logs=${stage_logs:?directory for logs}

# Prints the last line of a log every 20 seconds until it is killed. The read that times out is a sleep without a process
# that would outlive this one.
heartbeat() {
    local never
    exec {never}<> <(:)
    while ! read -r -t 20 -u "$never"; do
        printf '[%4d s]   %s\n' $((SECONDS - stage_began)) "$(tail -n 1 "$1" | tr -d '\r' | cut -c 1-110)"
    done
}

# stage NAME COMMAND...: runs the command with its output in a log; prints a line at start and end. Ends the script with
# the tail of the log if the command fails.
stage() {
    local name=$1 log began=$SECONDS status=0 beat
    shift
    mkdir -p "$stage_logs"
    log=$stage_logs/${name//[^A-Za-z0-9]/-}.log
    printf '[%4d s] %s ...\n' $((SECONDS - stage_began)) "$name"
    heartbeat "$log" &
    beat=$!
    "$@" >"$log" 2>&1 </dev/null || status=$?
    kill "$beat" 2>/dev/null || true
    wait "$beat" 2>/dev/null || true
    if [ $status != 0 ]; then
        tail -n 60 "$log"
        echo
        printf '[%4d s] FAILED: %s (exit status %d after %d s; whole output: %s)\n' $((SECONDS - stage_began)) "$name" \
            $status $((SECONDS - began)) "$log"
        exit 1
    fi
    printf '[%4d s] %s: ok, %d s%s\n' $((SECONDS - stage_began)) "$name" $((SECONDS - began)) "$(stage_note "$log")"
}

# What is worth showing of a log: ctest's count of tests.
stage_note() {
    local summary
    summary=$(grep -E '^[0-9]+% tests passed' "$1" | tail -n 1 || true)
    if [ -n "$summary" ]; then printf ' (%s)' "$summary"; fi
}
