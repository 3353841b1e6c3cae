"""A provider that misbehaves as it is told: child.py MODE [ARGUMENT]."""
import json, os, random, signal, subprocess, sys, threading, time

mode, argument = sys.argv[1], (sys.argv[2:] or [""])[0]
out = os.fdopen(1, "wb", buffering=0)
correlates = mode.startswith("c-")


def raw(data):
    data = data if isinstance(data, bytes) else data.encode()
    while data:
        data = data[os.write(1, data):]


def say(message):
    raw(json.dumps(message) + "\n")


def ack(**more):
    flow = {"reads": True, "writes": False, "egress": False}
    capabilities = {"query": {"kinds": ["doc"]}, "correlation": correlates, "verify": True}
    return {"type": "handshake_ack", "protocol_version": "contextgraph/1.0",
            "provider": {"name": "child", "version": "1", "data_flow": flow},
            "capabilities": capabilities} | more


def frames(content, id=None, score=0.5):
    cost = (len(content.encode()) + 3) // 4
    frame = {"id": "f", "kind": "doc", "title": "t", "content": content, "score": score,
             "token_cost": cost, "citation_label": "c"}
    reply = {"type": "frames", "result": {"frames": [frame], "truncated": False}}
    return reply | ({"id": id} if id is not None else {})


def lines():
    for line in sys.stdin.buffer:
        yield json.loads(line)


def answer(message, content=None):
    say(frames(content or "answer to " + message["query"]["goal"], message.get("id")))


def at_some_time(message):
    time.sleep(random.random() / 500)
    answer(message)


# What happens before the handshake.
if mode == "exits":
    print("no licence for /srv/wiki", file=sys.stderr)
    sys.exit(7)
if mode == "silent":
    print("still loading", file=sys.stderr, flush=True)
    time.sleep(60)
if mode == "unflushed-half":
    raw('{"type":"handsh')
    time.sleep(60)
if mode == "closes-stdin":
    os.close(0)
    time.sleep(60)
if mode == "floods-stderr":
    os.write(2, b"noise " * 200_000 + b"\n")
if mode == "environment":
    names = ",".join(sorted(os.environ))
if mode == "slow-start":
    time.sleep(float(argument))
if mode == "banner":
    raw("\x1b[1mWelcome\x1b[0m\n\nINFO ready\n[1,2]\n")
if mode == "endless-banner":
    raw("INFO one more line\n" * 100_000)
if mode == "bom-crlf":
    raw(b"\xef\xbb\xbf" + json.dumps(ack()).encode() + b"\r\n\r\n  \r\n\n")
if mode == "c-leaves-its-pid":
    open(argument, "w").write(f"{os.getpid()}\n")
if mode == "helper":
    helper = subprocess.Popen(["sleep", "60"])
    open(argument, "w").write(f"{os.getpid()} {helper.pid}")
if mode == "ignores-shutdown":
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)

messages = lines()
if mode == "counts-starts":
    starts = os.path.getsize(argument) if os.path.exists(argument) else 0
    open(argument, "a").write("x")

hello = next(messages)
assert hello["type"] == "handshake", hello
if mode == "error-handshake":
    say({"type": "error", "code": "unavailable", "message": "no licence\x1b[2J"})
    time.sleep(60)
if mode == "other-version":
    say(ack(protocol_version="contextgraph/2.0"))
elif mode == "egress":
    flow = {"reads": True, "writes": False, "egress": True}
    say(ack(provider={"name": "child", "version": "1", "data_flow": flow}))
elif mode == "byte-by-byte":
    for byte in (json.dumps(ack()) + "\n").encode():
        raw(bytes([byte]))
elif mode != "bom-crlf":
    say(ack())

if mode == "c-reads-nothing" or mode == "reads-nothing":
    time.sleep(60)
if mode == "dies-after-ack":
    sys.exit(3)
if mode == "dies-by-signal":
    next(messages)
    os.kill(os.getpid(), signal.SIGKILL)
if mode == "stops-itself":
    next(messages)
    os.kill(os.getpid(), signal.SIGSTOP)

held, count = [], 0
for message in messages:
    if message["type"] == "shutdown":
        if mode == "ignores-shutdown":
            continue
        break
    if message["type"] == "verify":
        verdicts = [{"frame": it, "status": "valid"} for it in message["request"]["frames"]]
        say({"type": "verified", "response": {"verdicts": verdicts}})
        continue
    goal, id, count = message["query"]["goal"], message.get("id"), count + 1
    if mode == "environment":
        answer(message, names)
    elif mode == "byte-by-byte":
        for byte in (json.dumps(frames("naïve 文脈 🔎 done", id), ensure_ascii=False) + "\n").encode():
            raw(bytes([byte]))
    elif mode == "bom-crlf":
        raw(json.dumps(frames("answer to " + goal)) + "\r\n")
    elif mode in ("late", "c-late"):
        # Waits for a file to appear when told so; everything else is answered at once.
        while goal == "first" and not os.path.exists(argument):
            time.sleep(0.005)
        answer(message)
    elif mode in ("never", "c-never"):
        if not goal.startswith("never"):
            answer(message)
    elif mode == "c-at-any-time":
        # Out of order, at random.
        threading.Thread(target=at_some_time, args=[message]).start()
    elif mode == "at-any-time":
        if random.random() < 0.2:
            at_some_time(message)
        else:
            answer(message)
    elif mode == "twice":
        reply = json.dumps(frames("answer to " + goal)) + "\n"
        raw(reply + reply)
    elif mode == "c-reversed":
        held.append(message)
        if len(held) == 3:
            raw("".join(json.dumps(frames("answer to " + it["query"]["goal"], it["id"])) + "\n"
                        for it in reversed(held)))
            held = []
    elif mode == "c-id":
        wrong = {"number": 7, "upper": id.upper(), "trim": id[:-1], "missing": None}
        say(frames("x", wrong[argument]))
    elif mode == "c-error-without-id":
        say({"type": "error", "message": "broken", "code": "unavailable"})
    elif mode == "unknown-type":
        say({"type": "progress", "percent": 50})
        answer(message)
    elif mode == "log-lines":
        raw("DEBUG looking\n{ not json\n")
        answer(message)
    elif mode in ("nan", "c-nan"):
        answer(message) if count > 1 else raw(json.dumps(frames("x", id, float("nan"))) + "\n")
    elif mode == "invalid-utf8":
        answer(message) if count > 1 else raw(json.dumps(frames("x")).encode().replace(b'"x"', b'"\xff"') + b"\n")
    elif mode == "long-line":
        answer(message, "x" * 20_000_000 if count == 1 else None)
    elif mode == "half-then-exit":
        raw('{"type":"frames","result":{"frames":[{"id":"f","kin')
        print("out of memory", file=sys.stderr)
        sys.exit(7)
    elif mode == "no-newline":
        raw(json.dumps(frames("the last words")))
        sys.exit(0)
    elif mode == "closes-stdout":
        os.close(1)
        time.sleep(60)
    elif mode == "grandchild":
        subprocess.Popen(["sleep", "60"])
        sys.exit(5)
    elif mode == "writes-before-reading":
        raw(" " * (512 << 10))
        answer(message)
    elif mode == "floods-stderr":
        os.write(2, b"noise\n" * 50_000)
        answer(message)
    elif mode == "tampers":
        say({"type": "verified", "response": {"verdicts": []}})
    elif mode == "error":
        say({"type": "error", "code": "unsupported_kind", "message": "only facts"})
    elif mode == "counts-starts":
        if goal == "hang":
            time.sleep(60)
        answer(message, f"start {starts}")
    else:
        answer(message)

if mode == "ignores-shutdown":
    time.sleep(60)
