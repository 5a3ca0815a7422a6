"use strict";
// Drives `@modelcontextprotocol/sdk`, the official TypeScript SDK of version 1, whose client is a legacy one.

const { Client } = require("@modelcontextprotocol/sdk/client/index.js");
const { SSEClientTransport } = require("@modelcontextprotocol/sdk/client/sse.js");
const { StdioClientTransport } = require("@modelcontextprotocol/sdk/client/stdio.js");
const { StreamableHTTPClientTransport } = require("@modelcontextprotocol/sdk/client/streamableHttp.js");
const types = require("@modelcontextprotocol/sdk/types.js");
const { about, call, capabilities, close, serve, transport } = require("./driver.cjs");

const CLASSES = { http: StreamableHTTPClientTransport, sse: SSEClientTransport, stdio: StdioClientTransport };
const QUESTIONS = {
  elicitation: types.ElicitRequestSchema,
  sampling: types.CreateMessageRequestSchema,
  roots: types.ListRootsRequestSchema,
};

serve(async ({ can, extensions, server }, { tell, ask }) => {
  const client = new Client({ name: "sdk", version: "1" }, { capabilities: capabilities(can, extensions) });
  for (const name of can) client.setRequestHandler(QUESTIONS[name], ({ method, params }) => ask(method, params));
  client.fallbackNotificationHandler = async ({ method, params }) => tell(method, params);
  await client.connect(transport(CLASSES, server));

  return {
    about: () => about(client),
    close: () => close(client),
    notify: ({ method, params }) => client.notification({ method, params }),
    request({ method, params, timeout }, signal, onprogress) {
      const options = { timeout, signal, onprogress };
      if (method === "tools/call") return client.callTool(params, undefined, options);
      return call(client, method, params, options, () => client.request({ method, params }, types.ResultSchema, options));
    },
  };
});
