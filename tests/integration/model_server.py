# SPDX-License-Identifier: Apache-2.0
# SPDX-FileCopyrightText: The OpenWorker authors
"""A model server for tests: OpenAI's Chat Completions, streamed, on 127.0.0.1, that answers what
a script says and misbehaves where the script asks for it.

    with ModelServer([calls(("shell", {"command": "true"})), {"text": "Done."}]) as server:
        run(["--model", "openai:any", "--base-url", server.url])
    assert server.faults == []

From the command line: `python3 model_server.py --script FILE` (JSON, a list of answers) or
`--demo FILE` (a recording: its turns are spoken, and the results held against its patterns);
the first line printed is the address, and each request is a line after it with --print-requests.
It runs until its stdin ends.

A script is a list of answers, one for each request in order; after its end the last one is given
again. An answer is a dict:

  what is said
    text        a text, or a list of pieces
    calls       [{"id", "name", "arguments"}], arguments an object, or a text sent as it is
    finish      the finish_reason; without it "tool_calls" or "stop"; None: never sent
    usage       an object; True: made up
    split       most characters of arguments in one chunk (1)
    interleave  True: the calls' chunks take turns (True)
    done        False: no [DONE] at the end (True)
    dialect     words: "no-ids", "no-index", "object-arguments", "late-name", "twice-name",
                "role-chunks", "null-content", "reasoning", "usage-in-choice", "stop-for-calls"
    events      instead of all that: what stands behind "data: ", a text or an object each
    error_event an object, sent as an event after what was said, and no end after it
    raw         instead of all that: the body as it is, a text or bytes

  how it is sent
    status, headers, body, content_type   200, {}, None, "text/event-stream"
    framing     "chunked", "close" (ends with the connection), "length" ("chunked")
    chunk       bytes of one write (all of an event)
    delay       seconds between writes
    line_end    "\\n", "\\r", "\\r\\n"
    bom         True: a byte-order mark in front
    comments    a comment line in front of every event
    wait        seconds before the answer begins
    cut_at      the connection ends after so many bytes of the body; with "reset": by a reset

  misbehaviour (instead of what is said)
    misbehave   "hang-up" (no answer, the connection ends), "silent" (no answer, no end),
                "silent-after" (what is said without its end, then nothing), "comments" (comments
                without end), "endless" (text without end), "endless-line" (one line without end),
                "endless-call" (arguments without end), "big-event" (one event of "bytes"),
                "not-http"
"""

import argparse
import itertools
import json
import re
import socket
import socketserver
import struct
import sys
import threading
import time

SILENCE = 600
BOM = b"\xef\xbb\xbf"


class Request:
    """What a client asked: header names in lower case, the body as bytes and as JSON."""

    def __init__(self, method, path, headers, body, at):
        self.method, self.path, self.headers, self.body, self.at = method, path, headers, body, at
        try:
            self.json = json.loads(body)
        except ValueError:
            self.json = None

    @property
    def messages(self):
        return self.json["messages"]

    @property
    def n_answers(self):
        """How often the model has spoken before: which turn is asked for."""
        return sum(message["role"] == "assistant" for message in self.messages)


# ---- what a script is made of

def calls(*asked, text="", **more):
    """An answer that asks for tools, each (name, arguments) or (name, arguments, id)."""
    listed = [{"id": call[2] if len(call) > 2 else f"call_{number}", "name": call[0],
               "arguments": call[1]} for number, call in enumerate(asked)]
    return {"text": text, "calls": listed, **more}


def status(code, message="No.", retry_after=None, **more):
    """An answer that is none, with an error as OpenAI writes it."""
    headers = {} if retry_after is None else {"Retry-After": str(retry_after)}
    return {"status": code, "headers": headers, "content_type": "application/json",
            "body": json.dumps({"error": {"message": message, "type": "error", "code": code}}),
            **more}


CAPTIVE_PORTAL = {"content_type": "text/html; charset=utf-8",
                  "body": "<html><body>Please <b>log in</b> to this network.</body></html>"}


def from_recording(path, **more):
    """(answers, patterns) of a recording: its turns, and per turn {call id: pattern}."""
    answers, patterns = [], []
    with open(path, encoding="utf-8") as lines:
        for line in lines:
            event = json.loads(line)
            if event["type"] == "model-message":
                answers.append({"text": event.get("text", ""),
                                "calls": event.get("tool_calls", []), "usage": True, **more})
                patterns.append({})
            elif event["type"] == "tool-ended":
                patterns[-1][event["model_call"]] = event["result_pattern"]
    return answers, patterns


# ---- a strict look at what is asked

def _message_faults(message, open_calls):
    role = message.get("role")
    if role not in ("system", "user", "assistant", "tool"):
        return [f"a message has the role {role!r}"]
    if role != "tool" and open_calls:
        return [f"{role} speaks while {sorted(open_calls)} have no result"]
    content = message.get("content")
    if not isinstance(content, str) and not (
            role == "assistant" and content is None and message.get("tool_calls")):
        return [f"a message of {role} has the content {content!r}"]
    if role == "tool":
        if message.get("tool_call_id") not in open_calls:
            return [f"a result of {message.get('tool_call_id')!r}, which nobody asked for"]
        open_calls.discard(message["tool_call_id"])
    return []


def _call_faults(message, open_calls):
    if "tool_calls" not in message:
        return []
    faults, asked = [], message["tool_calls"]
    if message["role"] != "assistant" or not isinstance(asked, list) or not asked:
        return ["tool_calls that are empty, no list, or not the assistant's"]
    for call in asked:
        function = call.get("function", {})
        if call.get("type") != "function" or not call.get("id") or call["id"] in open_calls:
            faults.append(f"a call without a type or an id of its own: {call!r}")
        if not re.fullmatch(r"[A-Za-z0-9_-]{1,64}", function.get("name", "")):
            faults.append(f"a call of the tool {function.get('name')!r}")
        try:
            if not isinstance(json.loads(function.get("arguments")), dict):
                faults.append("arguments that are no object")
        except (TypeError, ValueError):
            faults.append(f"arguments that do not parse: {function.get('arguments')!r}")
        open_calls.add(call.get("id"))
    return faults


def request_faults(request):
    """What is wrong with a request, as a server that takes its own rules seriously sees it."""
    body = request.json
    if not isinstance(body, dict):
        return ["the body is no JSON object"]
    faults, open_calls = [], set()
    if not body.get("model") or not isinstance(body.get("model"), str):
        faults.append("no model is named")
    if body.get("stream") is not True:
        faults.append("the answer is not asked for as a stream")
    if not isinstance(body.get("messages"), list) or not body["messages"]:
        return [*faults, "there are no messages"]
    for message in body["messages"]:
        faults += _message_faults(message, open_calls) + _call_faults(message, open_calls)
    if open_calls:
        faults.append(f"{sorted(open_calls)} have no result")
    for tool in body.get("tools", []):
        function = tool.get("function", {})
        if (tool.get("type") != "function" or not function.get("name") or
                not isinstance(function.get("parameters"), dict)):
            faults.append(f"a tool that is none: {tool!r}")
    if "tools" in body and not body["tools"]:
        faults.append("an empty list of tools")
    return faults


# ---- an answer as events

def _chunk(delta, finish=None, **more):
    choice = {"index": 0, "delta": delta, "finish_reason": finish}
    return {"id": "chatcmpl-1", "object": "chat.completion.chunk", "created": 1, "model": "m",
            "choices": [choice], **more}


def _call_chunks(call, index, split, dialect):
    """The deltas of one call."""
    arguments = call["arguments"]
    entry = {"index": index, "id": call["id"], "type": "function",
             "function": {"name": call["name"], "arguments": ""}}
    if "no-ids" in dialect:
        del entry["id"]
    if "object-arguments" in dialect:
        entry["function"]["arguments"] = arguments
        return [entry]
    late = {"index": index, "function": {}}
    if "late-name" in dialect:
        late = {"index": index, "id": entry.pop("id", call["id"]),
                "function": {"name": entry["function"].pop("name")}}
    text = arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False)
    pieces = [text[at:at + split] for at in range(0, len(text), split)]
    deltas = [entry, *({"index": index, "function": {"arguments": piece}} for piece in pieces)]
    if "late-name" in dialect:
        deltas.append(late)
    if "twice-name" in dialect:
        deltas.append({"index": index, "id": call["id"], "type": "function",
                       "function": {"name": call["name"], "arguments": ""}})
    if "no-index" in dialect:
        for delta in deltas:
            del delta["index"]
    return deltas


def _said(answer):
    """The chunks of what an answer says, its end left off."""
    dialect = answer.get("dialect", ())
    if "role-chunks" in dialect:
        yield _chunk({"role": "assistant"})
        yield _chunk({"role": "assistant", "content": ""})
    if "null-content" in dialect:
        yield _chunk({"role": "assistant", "content": None, "tool_calls": None})
    if "reasoning" in dialect:
        yield _chunk({"reasoning_content": "Hm, what is asked here?"})
    text = answer.get("text", "")
    for piece in [text] if isinstance(text, str) else text:
        if piece:
            yield _chunk({"content": piece})
    per_call = [_call_chunks(call, index, answer.get("split", 1), dialect)
                for index, call in enumerate(answer.get("calls", ()))]
    if answer.get("interleave", True) and "no-index" not in dialect:
        rows = itertools.zip_longest(*per_call)
    else:
        rows = ((delta,) for deltas in per_call for delta in deltas)
    for row in rows:
        for delta in row:
            if delta is not None:
                yield _chunk({"tool_calls": [delta]})


def events_of(answer):
    """What stands behind "data: " of each event of an answer."""
    if "events" in answer:
        return [event if isinstance(event, str) else json.dumps(event)
                for event in answer["events"]]
    dialect = answer.get("dialect", ())
    events = [json.dumps(chunk, ensure_ascii=False) for chunk in _said(answer)]
    if "error_event" in answer:
        return [*events, json.dumps(answer["error_event"])]
    if answer.get("misbehave") == "silent-after":
        return events
    by_itself = "tool_calls" if answer.get("calls") else "stop"
    finish = answer.get("finish", "stop" if "stop-for-calls" in dialect else by_itself)
    usage = answer.get("usage")
    if usage is True:
        usage = {"prompt_tokens": 120, "completion_tokens": 34, "total_tokens": 154}
    last = _chunk({}, finish)
    if usage and "usage-in-choice" in dialect:
        last["usage"] = usage
    if finish is not None:
        events.append(json.dumps(last))
    if usage and "usage-in-choice" not in dialect:
        events.append(json.dumps({**last, "choices": [], "usage": usage}))
    if answer.get("done", True):
        events.append("[DONE]")
    return events


def body_of(answer):
    """The pieces of an answer's body, one an event; without end for some misbehaviour."""
    how, end = answer.get("misbehave"), answer.get("line_end", "\n")
    if "raw" in answer:
        raw = answer["raw"]
        return [raw if isinstance(raw, bytes) else raw.encode()]
    if "body" in answer:
        return [answer["body"].encode()]
    if how == "comments":
        return itertools.repeat(f": keep-alive{end}{end}".encode())
    if how == "endless":
        text = json.dumps(_chunk({"content": "and so on, "}))
        return itertools.repeat(f"data: {text}{end}{end}".encode())
    if how == "endless-line":
        return itertools.chain([b'data: {"choices":[{"delta":{"content":"'],
                               itertools.repeat(b"a" * 65536))
    if how == "endless-call":
        first = _chunk({"tool_calls": [{"index": 0, "id": "c", "function": {
            "name": "shell", "arguments": '{"command":"'}}]})
        more = _chunk({"tool_calls": [{"index": 0, "function": {"arguments": "a" * 4096}}]})
        return itertools.chain([f"data: {json.dumps(first)}{end}{end}".encode()],
                               itertools.repeat(f"data: {json.dumps(more)}{end}{end}".encode()))
    if how == "big-event":
        text = json.dumps(_chunk({"content": "a" * answer.get("bytes", 10 * 1024 * 1024)}))
        return [f"data: {text}{end}{end}".encode(), f"data: [DONE]{end}{end}".encode()]
    comment = f": {answer['comments']}{end}" if "comments" in answer else ""
    pieces = [f"{comment}data: {event}{end}{end}".encode() for event in events_of(answer)]
    return [BOM, *pieces] if answer.get("bom") else pieces


# ---- the server

class _Gone(Exception):
    """The connection is at its end, as the script wants or because the client left."""


class _Handler(socketserver.BaseRequestHandler):
    def handle(self):
        self.input = self.request.makefile("rb")
        try:
            while self.one_exchange():
                pass
        except (OSError, _Gone):
            pass
        finally:
            self.input.close()

    def read_request(self):
        first = self.input.readline(65536).decode("latin-1").split()
        if len(first) != 3:
            return None
        headers = {}
        while (line := self.input.readline(65536).decode("latin-1").rstrip("\r\n")):
            name, _, value = line.partition(":")
            headers[name.strip().lower()] = value.strip()
        if headers.get("transfer-encoding", "").lower() == "chunked":
            body = b""
            while (size := int(self.input.readline(1024).split(b";")[0], 16)) > 0:
                body += self.input.read(size)
                self.input.readline(1024)
            self.input.readline(1024)
        else:
            body = self.input.read(int(headers.get("content-length", "0")))
        return Request(first[0], first[1], headers, body, time.monotonic())

    def one_exchange(self):
        request = self.read_request()
        if request is None:
            return False
        answer = self.server.owner.answer_for(request)
        how = answer.get("misbehave")
        if how == "hang-up":
            return False
        self.wait(SILENCE if how == "silent" else answer.get("wait", 0))
        if how == "not-http":
            self.send(b"SSH-2.0-OpenSSH_9.2\r\n")
            return False
        return self.give(answer)

    def wait(self, seconds):
        """Sleeps, but not past the server's end or the client's."""
        until = time.monotonic() + seconds
        while (left := until - time.monotonic()) > 0:
            if self.server.owner.closing.wait(min(left, 0.05)) or self.client_left():
                raise _Gone

    def client_left(self):
        try:
            return self.request.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT) == b""
        except BlockingIOError:
            return False

    def send(self, data):
        if self.server.owner.closing.is_set():
            raise _Gone
        self.request.sendall(data)

    def give(self, answer):
        framing = answer.get("framing", "length" if "body" in answer else "chunked")
        pieces = body_of(answer)
        if framing == "length":
            pieces = [b"".join(pieces)]
        headers = {"Content-Type": answer.get("content_type", "text/event-stream"),
                   **answer.get("headers", {})}
        if framing == "chunked":
            headers["Transfer-Encoding"] = "chunked"
        elif framing == "length":
            headers["Content-Length"] = str(answer.get("length", len(pieces[0])))
        else:
            headers["Connection"] = "close"
        code = answer.get("status", 200)
        head = "".join(f"{name}: {value}\r\n" for name, value in headers.items()
                       if value is not None)
        self.send(f"HTTP/1.1 {code} Said\r\n{head}\r\n".encode())
        self.give_body(answer, pieces, framing == "chunked")
        if answer.get("misbehave") == "silent-after":
            self.wait(SILENCE)
        if framing == "chunked":
            self.send(b"0\r\n\r\n")
        return framing != "close"

    def give_body(self, answer, pieces, chunked):
        left = answer.get("cut_at")
        for piece in pieces:
            size = answer.get("chunk") or len(piece) or 1
            for at in range(0, len(piece), size):
                part = piece[at:at + size]
                if left is not None:
                    part = part[:left]
                    left -= len(part)
                if part:
                    self.send(b"%x\r\n%s\r\n" % (len(part), part) if chunked else part)
                if left == 0:
                    self.cut(answer)
                if answer.get("delay"):
                    self.wait(answer["delay"])

    def cut(self, answer):
        if answer.get("reset"):
            self.request.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        raise _Gone


class _Listener(socketserver.ThreadingTCPServer):
    daemon_threads = True
    allow_reuse_address = True
    request_queue_size = 128

    def handle_error(self, request, client_address):
        self.owner.faults.append(f"the server failed: {sys.exc_info()[1]!r}")


class ModelServer:
    """Listens from its making to close(). @script: a list of answers, or a function that makes
    an answer for a Request. @key: what the client must bring, else 401. @patterns: per turn
    {call id: pattern} that the results are held against. @tls: (certificate, key) files."""

    def __init__(self, script, key=None, patterns=None, tls=None, strict=True, on_request=None):
        self.script, self.key, self.patterns, self.strict = script, key, patterns, strict
        self.on_request = on_request
        self.requests, self.faults = [], []
        self.closing, self.lock = threading.Event(), threading.Lock()
        self.listener = _Listener(("127.0.0.1", 0), _Handler)
        self.listener.owner = self
        if tls is not None:
            import ssl
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(*tls)
            self.listener.socket = context.wrap_socket(self.listener.socket, server_side=True)
        self.port = self.listener.server_address[1]
        self.url = f"{'http' if tls is None else 'https'}://127.0.0.1:{self.port}"
        self.thread = threading.Thread(target=self.listener.serve_forever, args=(0.05,),
                                       daemon=True)
        self.thread.start()

    @classmethod
    def for_recording(cls, path, key=None, **how):
        """Speaks the turns of a recording, whichever is asked for, and checks the results."""
        answers, patterns = from_recording(path, **how)

        def script(request):
            turn = request.n_answers
            if turn >= len(answers):
                return status(400, "The recording has no more turns.")
            return answers[turn]
        return cls(script, key=key, patterns=patterns)

    def close(self):
        self.closing.set()
        self.listener.shutdown()
        self.listener.server_close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def answer_for(self, request):
        with self.lock:
            if self.on_request is not None:
                self.on_request(request)
            return self._answer_for(request)

    def _answer_for(self, request):
        if self.key is not None and request.headers.get("authorization") != f"Bearer {self.key}":
            return status(401, "Incorrect API key provided.")
        if request.method == "GET" and request.path.endswith("/models"):
            return {"content_type": "application/json",
                    "body": json.dumps({"object": "list", "data": [{"id": "m"}]})}
        if request.method != "POST" or not request.path.endswith("/chat/completions"):
            return status(404, f"There is no {request.method} {request.path}.")
        self.requests.append(request)
        faults = request_faults(request)
        if not faults:
            faults = self._result_faults(request)
        if faults:
            self.faults += faults
            if self.strict:
                return status(400, "; ".join(faults))
        if callable(self.script):
            return self.script(request)
        return self.script[min(len(self.requests), len(self.script)) - 1]

    def _result_faults(self, request):
        turn = request.n_answers - 1
        if self.patterns is None or not 0 <= turn < len(self.patterns):
            return []
        # Only what followed the last words of the model: ids may come again.
        last = max(i for i, m in enumerate(request.messages) if m["role"] == "assistant")
        results = {message["tool_call_id"]: message["content"]
                   for message in request.messages[last:] if message["role"] == "tool"}
        # Of calls that were given no ids the results come in the order of the calls.
        if not results.keys() & self.patterns[turn].keys():
            results = dict(zip(self.patterns[turn], results.values()))
        return [f"the call {call} was to give {pattern!r} and gave {results.get(call)!r}"
                for call, pattern in self.patterns[turn].items()
                if not re.search(pattern, results.get(call) or "", re.DOTALL)]


def main():
    parser = argparse.ArgumentParser(description="A model server for tests, on 127.0.0.1.")
    what = parser.add_mutually_exclusive_group(required=True)
    what.add_argument("--script", metavar="FILE", help="a list of answers, as JSON")
    what.add_argument("--demo", metavar="FILE", help="a recording: speak its turns")
    parser.add_argument("--key", help="the key that clients must bring")
    parser.add_argument("--print-requests", action="store_true")
    options = parser.parse_args()

    def show(request):
        if options.print_requests:
            print(json.dumps({"path": request.path, "headers": request.headers,
                              "body": request.json}), flush=True)
    if options.demo:
        server = ModelServer.for_recording(options.demo, key=options.key)
        server.on_request = show
    else:
        with open(options.script, encoding="utf-8") as script:
            server = ModelServer(json.load(script), key=options.key, on_request=show)
    print(server.url, flush=True)
    # Ends with its caller, who holds the other end of its stdin.
    try:
        sys.stdin.read()
    except KeyboardInterrupt:
        pass
    server.close()
    for fault in server.faults:
        print(fault, file=sys.stderr)
    return 1 if server.faults else 0


if __name__ == "__main__":
    sys.exit(main())
