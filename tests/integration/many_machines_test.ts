/** The snippets of docs/how-to/many-machines.md, in order, in an empty home; only ports differ. */
import { assert, assertEquals, assertMatch } from "@std/assert";
import { fromFileUrl, join } from "@std/path";
import { snippetsOf } from "../../install/snippets.ts";
import { freePort } from "../support/free_port.ts";
import { hasProgram } from "../support/programs.ts";
import { can_run_svc, Place, svcLine } from "../support/svc.ts";

const page = fromFileUrl(new URL("../../docs/how-to/many-machines.md", import.meta.url));
const ignore = !can_run_svc || Deno.build.os !== "linux" ||
  !["restate-server", "caddy", "openssl", "curl"].every(hasProgram);

/** Ends what the snippets have started, and shows its logs if one of them fails. */
const SHELL = `
set -eumo pipefail
trap 'status=$?; trap - EXIT; [ $status = 0 ] || tail -n 5 *.log; kill $(jobs -p); wait; exit $status' EXIT
trap 'echo "in the snippet of line $LINE: $BASH_COMMAND" >&2' ERR
`;
/** The ports of the page. */
const PORTS = [8080, 9070, 9081, 9082, 9083, 9443, 8440];

Deno.test({
  name: "docs: many-machines.md leads from nothing to three workers with TLS in front of them",
  ignore,
  async fn() {
    await using place = new Place();
    const [ports, node] = [new Map(PORTS.map((port) => [port, freePort()])), freePort()];
    const bin = place.mkdir("bin");
    const program = (name: string, text: string) =>
      Deno.writeTextFileSync(join(bin, name), `#!/bin/sh\n${text}\n`, { mode: 0o755 });
    program("svc", `exec ${svcLine()} "$@"`);
    // The server is there already.
    program("npm", "exit 0");
    program(
      "npx",
      `shift; exec env RESTATE_INGRESS__BIND_PORT=${ports.get(8080)} ` +
        `RESTATE_ADMIN__BIND_PORT=${ports.get(9070)} RESTATE_BIND_PORT=${node} restate-server "$@"`,
    );
    const script = snippetsOf(Deno.readTextFileSync(page))
      .map(({ line, script }) => `LINE=${line}\n${script}`)
      .join("\n")
      .replaceAll(
        /:(\d{4})\b/g,
        (all, port) => ports.has(Number(port)) ? `:${ports.get(Number(port))}` : all,
      )
      // Nobody answers there.
      .replaceAll("example.org", "example.invalid");
    const { code, stdout, stderr } = await new Deno.Command("bash", {
      args: ["-c", `${SHELL}\n${script}`],
      cwd: place.mkdir("work"),
      clearEnv: true,
      env: { HOME: place.mkdir("home"), PATH: `${bin}:${place.env.PATH}`, TERM: "dumb" },
      stdin: "null",
    }).output();
    const text = (bytes: Uint8Array) => new TextDecoder().decode(bytes);
    const output = text(stdout) + text(stderr);
    assertEquals(code, 0, output);
    assertMatch(output, /registered https:\/\/localhost:\d+ with Restate as dp_/);
    // Its worker has looked for the address.
    assertMatch(output, /"status":"failed","task_type":"research".*could not be resolved/);
    assertMatch(output, /Restate 1\.\S+ at \S+ is reachable/);
    assert(output.includes("research  "), output);
  },
});
