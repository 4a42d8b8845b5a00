/** A DNS server on loopback that gives the addresses a test wants, one after the other. */
import { createSocket, type Socket } from "node:dgram";
import { once } from "node:events";

const TYPE_A = 1;
const HEADER_BYTES = 12;

export class NameServer implements AsyncDisposable {
  readonly #socket: Socket = createSocket("udp4");
  readonly #listening: Promise<unknown> = once(this.#socket, "listening");
  readonly #names: Record<string, string[]>;

  /** @param names the addresses of each name; each answer takes one, the last stays. */
  constructor(names: Record<string, string[]>) {
    this.#names = Object.fromEntries(
      Object.entries(names).map(([name, addresses]) => [name, [...addresses]]),
    );
    this.#socket.on("message", (query, { port, address }) => {
      this.#socket.send(this.#reply(query), port, address);
    });
    this.#socket.bind(0, "127.0.0.1");
  }

  /** Asks this server, over the network, for the addresses of a name. */
  async resolve(name: string): Promise<string[]> {
    await this.#listening;
    const { port } = this.#socket.address();
    return await Deno.resolveDns(`${name}.`, "A", { nameServer: { ipAddr: "127.0.0.1", port } });
  }

  #reply(query: Uint8Array): Uint8Array {
    let at = HEADER_BYTES;
    const labels: string[] = [];
    while (query[at] !== 0) {
      labels.push(new TextDecoder().decode(query.subarray(at + 1, at + 1 + query[at])));
      at += 1 + query[at];
    }
    const question = query.subarray(HEADER_BYTES, at + 5);
    const asked_type = query[at + 1] * 256 + query[at + 2];
    const known = this.#names[labels.join(".").toLowerCase()];
    const address = asked_type === TYPE_A ? (known?.length > 1 ? known.shift() : known?.[0]) : "";
    const answer = address
      ? [0xc0, HEADER_BYTES, 0, TYPE_A, 0, 1, 0, 0, 0, 0, 0, 4, ...address.split(".").map(Number)]
      : [];
    const [high, low] = query;
    // A response, authoritative, recursion available; NXDOMAIN for a name that is not known.
    const head = [high, low, 0x85, known ? 0x80 : 0x83, 0, 1, 0, address ? 1 : 0, 0, 0, 0, 0];
    return new Uint8Array([...head, ...question, ...answer]);
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#listening;
    const closed = once(this.#socket, "close");
    this.#socket.close();
    await closed;
  }
}
