/** The public conformance suite of the protocol against `/mcp`, all of its server scenarios. */
import { assertEquals } from "@std/assert";
import { BearerProxy } from "../support/bearer_proxy.ts";
import { can_run_svc, Place } from "../support/svc.ts";

const SUITE = "npm:@modelcontextprotocol/conformance@0.1.16";

/** Scenarios that ask for nothing but what every server has. */
const PASSED = [
  "completion-complete",
  "dns-rebinding-protection",
  "logging-set-level",
  "ping",
  "prompts-list",
  "resources-list",
  "server-initialize",
  "server-sse-multiple-streams",
  "server-sse-polling",
  "tools-list",
];

/** Scenarios that ask for tools, prompts and resources of the suite's own, such as test_simple_text. */
const OWN_FIXTURES = [
  "elicitation-sep1034-defaults",
  "elicitation-sep1330-enums",
  "json-schema-2020-12",
  "prompts-get-embedded-resource",
  "prompts-get-simple",
  "prompts-get-with-args",
  "prompts-get-with-image",
  "resources-read-binary",
  "resources-read-text",
  "resources-subscribe",
  "resources-templates-read",
  "resources-unsubscribe",
  "tools-call-audio",
  "tools-call-elicitation",
  "tools-call-embedded-resource",
  "tools-call-error",
  "tools-call-image",
  "tools-call-mixed-content",
  "tools-call-sampling",
  "tools-call-simple-text",
  "tools-call-with-logging",
  "tools-call-with-progress",
];

Deno.test({
  name: "the conformance suite passes in all that needs no fixtures of its own",
  ignore: !can_run_svc,
  async fn() {
    await using place = new Place();
    const daemon = await place.serve();
    await using proxy = new BearerProxy(daemon);
    const { stdout, stderr } = await new Deno.Command(Deno.execPath(), {
      args: [
        "run",
        "--quiet",
        "--no-lock",
        "--allow-all",
        SUITE,
        "server",
        "--suite=all",
        `--url=${proxy.url}/mcp`,
      ],
      cwd: place.dir,
      env: { NO_COLOR: "1" },
      // One that never ends would take all other tests with it.
      signal: AbortSignal.timeout(300_000),
    }).output();
    const text = new TextDecoder().decode(stdout);
    const [, summary] = text.split("=== SUMMARY ===");
    const scenarios = (mark: string) =>
      [...(summary ?? "").matchAll(new RegExp(`^${mark} (\\S+):`, "gm"))].map(([, name]) => name);
    const said = `${text.slice(-2_000)}${new TextDecoder().decode(stderr)}`;
    assertEquals(scenarios("✓").sort(), PASSED, said);
    assertEquals(scenarios("✗").sort(), OWN_FIXTURES, said);
  },
});
