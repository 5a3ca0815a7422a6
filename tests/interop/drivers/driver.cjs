"use strict";
// What the drivers of both TypeScript clients share. tests/interop/driver.py describes the lines that they exchange.

const { createInterface } = require("node:readline");

/** How a client's own functions are called, by method. */
const FUNCTIONS = {
  "tools/list": "listTools",
  "prompts/list": "listPrompts",
  "prompts/get": "getPrompt",
  "resources/list": "listResources",
  "resources/templates/list": "listResourceTemplates",
  "resources/read": "readResource",
  "resources/subscribe": "subscribeResource",
  "resources/unsubscribe": "unsubscribeResource",
  "completion/complete": "complete",
};

/** The capabilities of a client that can be asked these things. */
function capabilities(can, extensions) {
  const every = {
    elicitation: { form: {}, url: {} },
    sampling: { tools: {}, context: {} },
    roots: { listChanged: true },
  };
  const chosen = Object.fromEntries(can.map((name) => [name, every[name]]));
  return extensions ? { ...chosen, extensions } : chosen;
}

/** A transport, of these classes by kind. */
function transport(classes, { kind, url, ...process }) {
  return kind === "stdio" ? new classes.stdio({ ...process, stderr: "inherit" }) : new classes[kind](new URL(url));
}

/** What a client knows of its server. */
function about(client) {
  return {
    server: client.getServerVersion(),
    capabilities: client.getServerCapabilities(),
    instructions: client.getInstructions(),
  };
}

/** Call the client's function for a method, or `other` where it has none of its own. */
function call(client, method, params, options, other) {
  if (method === "ping") return client.ping(options);
  if (method === "logging/setLevel") return client.setLoggingLevel(params.level, options);
  return method in FUNCTIONS ? client[FUNCTIONS[method]](params, options) : other();
}

/** Close a client, and end its session if it has one. */
async function close(client) {
  if (client.transport?.sessionId) await client.transport.terminateSession();
  await client.close();
}

/** Do what the lines of standard input say; `connect` makes a connection, which has a function for each verb. */
function serve(connect) {
  const say = (message) => process.stdout.write(`${JSON.stringify(message)}\n`);
  const connections = new Map();
  const running = new Map();
  const questions = new Map();

  const wayBack = (name) => ({
    tell: (method, params = {}) => say({ client: name, method, params }),
    ask: (method, params = {}) =>
      new Promise((resolve, reject) => {
        const question = `${name}/${questions.size}`;
        questions.set(question, { resolve, reject });
        say({ client: name, question, method, params });
      }),
  });

  async function perform({ id, verb, client: name, ...given }) {
    if (verb === "connect") connections.set(name, await connect(given, wayBack(name)));
    const connection = connections.get(name);
    if (verb === "connect") return connection.about();
    if (verb === "close") connections.delete(name);
    const controller = new AbortController();
    running.set(id, controller);
    try {
      return await connection[verb](given, controller.signal, (progress) => say({ of: id, progress }));
    } finally {
      running.delete(id);
    }
  }

  async function answer(line) {
    const { id } = line;
    try {
      say({ id, result: (await perform(line)) ?? {} });
    } catch (error) {
      say({ id, error: { code: error.code ?? error.name, message: error.message, data: error.data } });
    }
  }

  createInterface({ input: process.stdin })
    .on("line", (text) => {
      const line = JSON.parse(text);
      if ("question" in line) {
        const { resolve, reject } = questions.get(line.question);
        if (line.error) reject(Object.assign(new Error(line.error.message), line.error));
        else resolve(line.result);
      } else if ("cancel" in line) running.get(line.cancel)?.abort();
      else answer(line);
    })
    .on("close", () => process.exit(0));
}

module.exports = { about, call, capabilities, close, serve, transport };
