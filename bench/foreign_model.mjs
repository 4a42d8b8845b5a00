/**
 * A model server on Node, whose sockets send each small write at once, as real providers do. Prints
 * `{"url":…}` and serves until its input ends. Model `pace-5` answers with a delta every 5 ms,
 * `pace-0` with all of them at once.
 */
import { createServer } from "node:http";
import process from "node:process";

const DELTAS = 100;

const chunk = (choice, more = {}) =>
  `data: ${
    JSON.stringify({
      id: "answer",
      object: "chat.completion.chunk",
      created: 0,
      model: "bench",
      choices: [{ index: 0, ...choice }],
      ...more,
    })
  }\n\n`;
const delta = chunk({ delta: { content: "word " }, finish_reason: null });
const end = chunk({ delta: {}, finish_reason: "stop" }, {
  usage: { prompt_tokens: 10, completion_tokens: DELTAS, total_tokens: DELTAS + 10 },
}) + "data: [DONE]\n\n";

const server = createServer(async (request, response) => {
  let body = "";
  for await (const part of request) body += part;
  const pace_ms = Number(/^pace-(\d+)$/.exec(JSON.parse(body).model)[1]);
  response.writeHead(200, { "content-type": "text/event-stream" });
  if (pace_ms === 0) return response.end(delta.repeat(DELTAS) + end);
  const began = performance.now();
  for (let sent = 0; sent < DELTAS; sent++) {
    // By the clock, so that one late timer does not delay all that follow.
    const wait_ms = began + sent * pace_ms - performance.now();
    if (wait_ms > 0) await new Promise((resolve) => setTimeout(resolve, wait_ms));
    response.write(delta);
  }
  response.end(end);
});
server.listen(0, "127.0.0.1", () => {
  console.log(JSON.stringify({ url: `http://127.0.0.1:${server.address().port}/v1` }));
});
process.stdin.resume().on("end", () => process.exit(0));
