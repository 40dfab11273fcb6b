// Training in a worker, made from text because pages that open from a folder may load no worker file: what it gets, and
// what it does. Behind train_parts.js and train_engine.js.

const STEPS = 400;
const EVERY = 10; // steps of one report, and of one point of the curve
const MEASURED = 50; // steps from one count of mistakes to the next

// What runs in the worker, which gets it as text: some steps and a report, then a look at what was asked meanwhile.
function serve_training(engine, post, { steps, every, measured }, later = /** @type {any} */ (setTimeout)) {
  let [run, shown, going, waiting] = [null, null, false, false];
  function report(loss) {
    const counts = run.step % measured ? {} : { wrong: engine.words_wrong(run), right: engine.sentences_right(run) };
    post({ step: run.step, loss, looks: shown.map((sentence) => engine.look(run, sentence)), ...counts });
  }
  function go_on() {
    if (waiting || !going || run.step >= steps) return;
    waiting = true; // once, however often it is stopped and resumed meanwhile
    later(() => {
      waiting = false;
      if (!going) return;
      let loss = 0;
      for (let k = 0; k < every; k += 1) loss += engine.train_step(run) / every;
      report(loss);
      go_on();
    });
  }
  return ({ ask, seed, switches, sentences }) => {
    if (ask === "start") {
      run = engine.new_run(seed, switches);
      shown = sentences.map((text) => engine.unpack(text));
      report(null);
    }
    going = ask !== "stop";
    if (!going) post({ stopped: true }); // nothing is under way
    go_on();
  };
}

function training_worker(packed, receive, fail) {
  const sizes = JSON.stringify({ steps: STEPS, every: EVERY, measured: MEASURED });
  const text = [
    `const engine = (${translator_engine})(${JSON.stringify(packed)}, ${translator_parts});`,
    `const receive = (${serve_training})(engine, (report) => postMessage(report), ${sizes});`,
    "onmessage = (event) => receive(event.data);",
  ].join("\n");
  const url = URL.createObjectURL(new Blob([text], { type: "text/javascript" }));
  const worker = new Worker(url);
  worker.onmessage = (event) => receive(event.data);
  worker.onerror = (event) => fail(event.message || "the worker did not start");
  const end = () => {
    worker.onmessage = null; // for what is under way
    worker.terminate();
    URL.revokeObjectURL(url);
  };
  return { ask: (message) => worker.postMessage(message), end };
}
