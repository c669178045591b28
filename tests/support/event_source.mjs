// EventSource of a browser, as far as the examples of the documents use it, for versions of Node without it.
globalThis.EventSource ??= class extends EventTarget {
  constructor(url) {
    super();
    this.read(url);
  }

  async read(url) {
    const answer = await fetch(url, {headers: {Accept: "text/event-stream"}});
    const decoder = new TextDecoder();
    let text = "";
    for await (const piece of answer.body) {
      text += decoder.decode(piece, {stream: true});
      for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) {
        this.tell(text.slice(0, end).split("\n"));
      }
    }
  }

  tell(lines) {
    const fields = Object.fromEntries(lines.map(line => line.split(/: ?(.*)/s)));
    if (fields.data !== undefined) {
      this.dispatchEvent(Object.assign(new Event(fields.event ?? "message"), {data: fields.data, lastEventId: fields.id}));
    }
  }
};
