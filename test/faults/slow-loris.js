// Runs in a worker thread, so that the work of this client does not delay the test's other clients. Opens `count`
// connections to the edge at `port`, and keeps about that many open. Each connection sends a request byte by byte.
// Writes three counts of connections to `seen`: all that were opened, the most that were open at once, and those that
// have closed.
"use strict";
const { connect } = require("node:net");
const { workerData } = require("node:worker_threads");

const AT_ONCE = 400;
const DRIP_EVERY_MS = 2_000;
const TURN_MS = DRIP_EVERY_MS / 10;

const { port, count, seen } = workerData;
const open = new Set();
const OPENED = 0;
const MOST = 1;
const ENDED = 2;

function openOne() {
  seen[OPENED] += 1;
  const socket = connect({ host: "127.0.0.1", port, localAddress: `127.4.0.${1 + (seen[OPENED] % 100)}` });
  open.add(socket);
  socket.on("connect", () => {
    seen[MOST] = Math.max(seen[MOST], open.size);
    socket.write("POST /hooks/x HTTP/1.1\r\nHost: x\r\nX-Slow: ");
  });
  socket.on("error", () => undefined);
  // Node emits `close` only if the data of the socket is read.
  socket.resume();
  socket.on("close", () => {
    open.delete(socket);
    seen[ENDED] += 1;
  });
}

let turn = 0;
setInterval(() => {
  turn += 1;
  let place = 0;
  // Each connection sends a byte every DRIP_EVERY_MS. In each turn, a tenth of the connections send.
  for (const socket of open) if (place++ % 10 === turn % 10 && socket.writable) socket.write("x");
  // Opens more connections only after all earlier ones are established, so that the edge's queue of new connections
  // does not overflow.
  if (![...open].some(({ connecting }) => connecting)) {
    for (let i = Math.min(AT_ONCE, count - open.size); i > 0; i--) openOne();
  }
}, TURN_MS);
