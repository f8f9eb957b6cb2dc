// The search of the site runs in a worker, which browsers do not start from a page that was opened from disk.
// There, an invisible frame of the page takes the worker's place: what is posted to it arrives as a message event.
if (location.protocol === "file:") {
  window.Worker = class extends EventTarget {
    constructor(address) {
      super();
      const frame = document.createElement("iframe");
      frame.hidden = true;
      document.body.append(frame);
      this.inner = frame.contentWindow;
      this.inner.postMessage = data => this.dispatchEvent(new MessageEvent("message", { data }));
      this.inner.importScripts = (...addresses) => Promise.all(addresses.map(each => this.load(each)));
      this.ready = this.load(address);
    }

    load(address) {
      return new Promise((loaded, failed) => {
        const script = this.inner.document.createElement("script");
        script.src = address;
        script.onload = loaded;
        script.onerror = () => failed(new Error(`cannot load ${address}`));
        this.inner.document.head.append(script);
      });
    }

    postMessage(data) {
      this.ready.then(() => this.inner.dispatchEvent(new MessageEvent("message", { data })));
    }
  };
}
