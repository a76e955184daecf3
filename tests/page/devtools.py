"""
A headless Chromium, driven over its DevTools protocol through a pair of pipes: no port, no library.
"""
import base64
import json
import os
import shutil
import subprocess
import sys
import tempfile

NAMES = ("chromium", "chromium-browser", "google-chrome")
NOT_TESTED = 77


class Browser:
    """One page of a browser; use it in a with statement."""

    def __init__(self):
        program = next(filter(None, map(shutil.which, NAMES)), None)
        if program is None:
            print("no Chromium is installed: not tested")
            sys.exit(NOT_TESTED)
        self.profile = tempfile.mkdtemp()
        theirs, to_browser = os.pipe()
        from_browser, answers = os.pipe()

        def connect():
            for number, fd in ((100, theirs), (101, answers)):  # 3 and 4 may be in use
                os.dup2(fd, number)
            os.dup2(100, 3)
            os.dup2(101, 4)

        self.process = subprocess.Popen(
            [program, "--headless", "--no-sandbox", "--disable-gpu", "--hide-scrollbars",
             "--remote-debugging-pipe", "--force-color-profile=srgb",
             f"--user-data-dir={self.profile}", "about:blank"],
            preexec_fn=connect, close_fds=False, stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL)
        os.close(theirs)
        os.close(answers)
        self.sending, self.receiving = os.fdopen(to_browser, "wb"), os.fdopen(from_browser, "rb")
        self.rest, self.number, self.session, self.events = b"", 0, None, []
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target,
                                 flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.sending.close()
        self.process.terminate()
        self.process.wait()
        self.receiving.close()
        shutil.rmtree(self.profile, ignore_errors=True)  # its helpers may still write

    def receive(self):
        while b"\0" not in self.rest:
            more = os.read(self.receiving.fileno(), 1 << 20)
            if not more:
                raise RuntimeError("the browser has ended")
            self.rest += more
        message, self.rest = self.rest.split(b"\0", 1)
        return json.loads(message)

    def call(self, method, **parameters):
        """The result of a call; events that arrive meanwhile are kept."""
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if self.session:
            message["sessionId"] = self.session
        self.sending.write(json.dumps(message).encode() + b"\0")
        self.sending.flush()
        while True:
            answer = self.receive()
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"{method}: {answer['error']['message']}")
                return answer["result"]
            self.events.append(answer)

    def wait(self, method):
        while not any(event.get("method") == method for event in self.events):
            self.events.append(self.receive())

    def take(self, *methods):
        """The parameters of these events so far."""
        found = [e["params"] for e in self.events if e.get("method") in methods]
        self.events = [e for e in self.events if e.get("method") not in methods]
        return found

    def open(self, path):
        self.events = []
        self.call("Page.navigate", url=f"file://{path}" if path else "about:blank")
        self.wait("Page.loadEventFired")

    def run(self, expression):
        """The value of JavaScript, which may be a promise."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True,
                         awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(f"{expression[:80]}: {done['exceptionDetails']}")
        return done["result"].get("value")

    def settle(self):
        """Wait until what was changed is drawn."""
        self.run("new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
                 ".then(() => true)")

    def resize(self, width, height=1000):
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height,
                  deviceScaleFactor=1, mobile=False)
        self.settle()

    def prefer(self, scheme):
        self.call("Emulation.setEmulatedMedia",
                  features=[{"name": "prefers-color-scheme", "value": scheme}])
        self.settle()

    def press(self, key):
        codes = {"ArrowRight": 39, "ArrowLeft": 37, "PageDown": 34, "Escape": 27, "Enter": 13}
        text = {"text": "\r"} if key == "Enter" else {}
        for kind in ("keyDown", "keyUp"):
            self.call("Input.dispatchKeyEvent", type=kind, key=key, code=key,
                      windowsVirtualKeyCode=codes[key], **(text if kind == "keyDown" else {}))
        self.settle()

    def screenshot(self):
        """The whole page, as the bytes of a WebP file."""
        self.resize(self.run("innerWidth"), self.run("document.documentElement.scrollHeight"))
        shot = self.call("Page.captureScreenshot", format="webp", quality=45)
        return base64.b64decode(shot["data"])

    def compare(self, first, second):
        """The share of pixels that differ visibly between two pictures; 1 if their sizes do."""
        self.open(None)
        urls = [f"data:image/webp;base64,{base64.b64encode(p).decode()}" for p in (first, second)]
        return self.run("""(async (urls) => {
            const [a, b] = await Promise.all(urls.map(async (url) => {
                const picture = new Image();
                picture.src = url;
                await picture.decode();
                const canvas = new OffscreenCanvas(picture.width, picture.height);
                canvas.getContext("2d").drawImage(picture, 0, 0);
                return canvas.getContext("2d").getImageData(0, 0, picture.width, picture.height);
            }));
            if (a.width !== b.width || a.height !== b.height) return 1;
            let different = 0;
            for (let i = 0; i < a.data.length; i += 4)
                different += [0, 1, 2].some((c) => Math.abs(a.data[i + c] - b.data[i + c]) > 24);
            return different / (a.width * a.height);
        })(%s)""" % json.dumps(urls))

    def print_pdf(self):
        shot = self.call("Page.printToPDF", printBackground=True, preferCSSPageSize=True)
        return base64.b64decode(shot["data"])
