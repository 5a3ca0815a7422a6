"use strict";
// Drives `@modelcontextprotocol/client`, the official TypeScript client of version 2, in either era.

const { Client, SSEClientTransport, StreamableHTTPClientTransport } = require("@modelcontextprotocol/client");
const { SkillsClient } = require("@modelcontextprotocol/client/ext/skills");
const { StdioClientTransport } = require("@modelcontextprotocol/client/stdio");
const { about, call, capabilities, close, serve, transport } = require("./driver.cjs");

const CLASSES = { http: StreamableHTTPClientTransport, sse: SSEClientTransport, stdio: StdioClientTransport };
const QUESTIONS = { elicitation: "elicitation/create", sampling: "sampling/createMessage", roots: "roots/list" };
const MODERN = "2026-07-28";

/** A schema for results of which the client knows nothing. */
const ANYTHING = { "~standard": { version: 1, vendor: "test", validate: (value) => ({ value }) } };

serve(async ({ era, can, extensions, server }, { tell, ask }) => {
  const client = new Client(
    { name: "client", version: "1" },
    {
      capabilities: capabilities(can, extensions),
      versionNegotiation: { mode: era === "modern" ? { pin: MODERN } : "legacy" },
    },
  );
  for (const name of can) client.setRequestHandler(QUESTIONS[name], ({ method, params }) => ask(method, params));
  client.fallbackNotificationHandler = async ({ method, params }) => tell(method, params);
  await client.connect(transport(CLASSES, server));
  let subscription;

  return {
    about: () => about(client),
    close: () => close(client),
    notify: ({ method, params }) => client.notification({ method, params }),
    request({ method, params, timeout, manual }, signal, onprogress) {
      const options = { timeout, signal, onprogress, allowInputRequired: manual };
      if (method === "tools/call") return client.callTool(params, options);
      if (method === "server/discover") return client.discover(options);
      return call(client, method, params, options, () => client.request({ method, params }, ANYTHING, options));
    },
    async listen({ filter }) {
      subscription = await client.listen(filter);
      subscription.closed.then((why) => tell("test/closed", { why }));
      return subscription.honoredFilter;
    },
    unlisten: () => subscription.close(),
    /** Every file of every skill, in base64 by its URI; the client throws if one is not what was listed. */
    async skills() {
      const skills = new SkillsClient(client);
      const files = {};
      for (const skill of (await skills.list()).skills) {
        for (const { uri } of skill.resources) {
          const { bytes, verified } = await skills.read(skill, uri);
          if (verified) files[uri] = Buffer.from(bytes).toString("base64");
        }
      }
      return files;
    },
  };
});
