import { assertEquals } from "@std/assert";
import { networkHint } from "./network_hint.ts";

Deno.test("what programs say without network is recognized, with the host where they name it", () => {
  const said: [output: string, host: string | undefined][] = [
    ["curl: (6) Could not resolve host: registry.example", "registry.example"],
    [
      "fatal: unable to access 'https://git.example/a.git/': Could not resolve host: git.example",
      "git.example",
    ],
    [
      "ssh: Could not resolve hostname git.example: Temporary failure in name resolution",
      "git.example",
    ],
    [
      "npm error request to https://r.example/left-pad failed, reason: getaddrinfo EAI_AGAIN r.example",
      "r.example",
    ],
    [
      'go: example.org/x@v1.0.0: Get "https://proxy.example/x.info": dial tcp: lookup proxy.example ' +
      "on 10.0.0.53:53: dial udp 10.0.0.53:53: connect: network is unreachable",
      "proxy.example",
    ],
    [
      "Caused by: java.net.UnknownHostException: repo.example: Name or service not known",
      "repo.example",
    ],
    ["Temporary failure resolving 'deb.example'", "deb.example"],
    ["wget: unable to resolve host address ‘a.example’", "a.example"],
    ["wget: bad address 'a.example'", "a.example"],
    [
      "TypeError: error sending request for url (https://a.example/x): client error (Connect): dns " +
      "error: failed to lookup address information: Temporary failure in name resolution",
      "a.example",
    ],
    ["<urlopen error [Errno -3] Temporary failure in name resolution>", undefined],
    ["connect: Network is unreachable", undefined],
  ];
  for (const [output, host] of said) {
    const [note] = networkHint(`building\n${output}\nmore`);
    const where = host === undefined ? "" : `, so ${host} was not reached`;
    assertEquals(
      note,
      `[the network is off for commands${where}; ask for it with network: true and a reason]`,
      output,
    );
  }
  for (
    const other of [
      "curl: (7) Failed to connect to localhost port 8080: Connection refused",
      "2 tests failed",
      "error: network timeout of 5 s must be positive",
    ]
  ) {
    assertEquals(networkHint(other), [], other);
  }
});
