/**
 * A client of the WebSocket that shares no code with svc: Node and Chromium run it.
 *
 *   node --experimental-websocket bench/foreign_client.mjs < work.json
 */
import process from "node:process";

/**
 * Sends one message to each session, waits for all turns to end, and does that again. It uses
 * nothing from outside, so that a page can be given its text.
 *
 * @param {{url: string, token: string, session_ids: string[], rounds: number}} work
 * @returns {Promise<{rounds: number[], first: number[], late: number[]}>} ms a round, ms to the
 *   first delta of each turn, and ms from each delta's `at` to its arrival.
 */
export async function followTurns({ url, token, session_ids, rounds }) {
  const socket = new WebSocket(url, ["svc.bearer", token, "svc.proto.v1"]);
  const calls = new Map();
  const turns = new Map();
  const measured = { rounds: [], first: [], late: [] };
  let last_id = 0;
  socket.onmessage = ({ data }) => {
    const message = JSON.parse(data);
    if (message.method !== "$/event") {
      const { resolve, reject } = calls.get(message.id);
      calls.delete(message.id);
      if (message.error) reject(new Error(message.error.message));
      else resolve(message.result);
      return;
    }
    const { session_id, type, at, data: event } = message.params;
    const turn = turns.get(session_id);
    if (turn === undefined) return;
    if (type === "session.delta") {
      measured.late.push(Math.max(0, Date.now() - Date.parse(at)));
      if (!turn.seen) measured.first.push(performance.now() - turn.sent);
      turn.seen = true;
    } else if (type === "turn.completed") {
      turns.delete(session_id);
      if (event.stop_reason === "ok") turn.resolve();
      else turn.reject(new Error(`a turn ended with ${event.stop_reason}: ${event.error}`));
    }
  };
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error(`no WebSocket at ${url}`));
  });
  const call = (method, params) =>
    new Promise((resolve, reject) => {
      calls.set(++last_id, { resolve, reject });
      socket.send(JSON.stringify({ jsonrpc: "2.0", id: last_id, method, params }));
    });
  for (const session_id of session_ids) {
    const { last_seq: since_seq } = await call("session.get", { session_id });
    await call("session.subscribe", { session_id, since_seq, deltas: "session" });
  }
  const turnOf = (session_id) =>
    new Promise((resolve, reject) => {
      turns.set(session_id, { sent: performance.now(), seen: false, resolve, reject });
      call("session.send", { session_id, text: "go on" }).catch(reject);
    });
  for (let round = 0; round < rounds; round++) {
    const began = performance.now();
    await Promise.all(session_ids.map(turnOf));
    measured.rounds.push(performance.now() - began);
  }
  socket.close();
  return measured;
}

if (globalThis.process?.argv?.[1]?.endsWith("foreign_client.mjs")) {
  let work = "";
  for await (const part of process.stdin) work += part;
  console.log(JSON.stringify(await followTurns(JSON.parse(work))));
}
