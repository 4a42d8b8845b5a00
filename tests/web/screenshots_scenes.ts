/** The conversations that pictures of every face show. */
import { dirname, join } from "@std/path";
import type { Answer, Scripted } from "../support/model_servers.ts";
import { Scenario } from "../support/scripted.ts";

const BASKET = `export function total(items) {
  let sum = 0;
  for (const item of items) sum += item.price;
  return sum;
}
`;
const FIXED = "sum += item.price * (item.quantity ?? 1);";

/** What is in a session's directory. */
const FILES: Record<string, string> = {
  "src/basket.js": BASKET,
  "src/old_total.js": "export const total = (prices) => prices.reduce((a, b) => a + b);\n",
  "test.sh": "echo 'ok 1 - two of a kind'; echo 'ok 2 - no quantity'\n",
};

const PATCH = `*** Begin Patch
*** Update File: src/basket.js
@@
-export function total(items) {
-  let sum = 0;
-  for (const item of items) sum += item.price;
-  return sum;
-}
+import { cents } from "./money.js";
+
+export function total(items) {
+  return items.reduce((sum, item) => sum + cents(item.price), 0);
+}
*** Add File: src/money.js
+/** Prices are integers. */
+export function cents(price) {
+  return Math.round(price * 100);
+}
*** Delete File: src/old_total.js
*** End Patch
`;

export interface Scene {
  title: string;
  /** The person's message. */
  says: string;
  /** What the model answers, request by request. */
  steps: readonly Answer[];
  /** Default: ask. */
  approval?: "auto" | "workspace";
}

const edit = call("edit_file", {
  path: "src/basket.js",
  old_text: "sum += item.price;",
  new_text: FIXED,
});

/** By the names that their pictures have. */
export const SCENES = {
  conversation: {
    title: "Basket forgets the quantity",
    says: "The basket shows the wrong total when I buy two of something. Fix it, please.",
    approval: "auto",
    steps: [
      { text: "The sum leaves out the quantity.", calls: [edit] },
      { calls: [call("run_command", { command: "sh test.sh" })] },
      {
        text:
          "The basket counted every item once. An item without a `quantity` counts as **one**:" +
          "\n\n| items | before | now |\n| --- | --- | --- |\n| two of $5 | $5 | $10 |" +
          "\n\n```js\ntotal([{ price: 5, quantity: 2 }, { price: 1 }]); // 11\n```\n",
      },
    ],
  },
  "question-command": {
    title: "Run the tests",
    says: "Do the tests still pass?",
    steps: [
      {
        text: "I run them, with coverage.",
        calls: [call("run_command", { command: "npm test -- --coverage" })],
      },
      {
        text: "With Deno, then.",
        calls: [call("run_command", { command: "deno test --coverage" })],
      },
    ],
  },
  "question-edit": {
    title: "Count the quantity",
    says: "Let the total count the quantity of each item.",
    steps: [
      { calls: [call("read_file", { path: "src/basket.js" })] },
      { text: "The sum leaves out the quantity.", calls: [edit] },
    ],
  },
  "question-patch": {
    title: "Prices in cents",
    says: "Compute prices in cents, and remove what nobody uses.",
    steps: [
      { calls: ["src/basket.js", "src/old_total.js"].map((path) => call("read_file", { path })) },
      {
        text: "One function converts them, and `old_total.js` can go.",
        calls: [call("apply_patch", { patch: PATCH })],
      },
    ],
  },
  workspace: {
    title: "Rounding",
    says: "Round the total with a library.",
    approval: "workspace",
    steps: [
      {
        text: "I count the quantity first.",
        calls: [edit],
      },
      {
        text: "Now the library.",
        calls: [call("run_command", {
          command: "npm install dinero.js",
          network: true,
          reason: "npm fetches dinero.js from its registry",
        })],
      },
    ],
  },
} as const satisfies Record<string, Scene>;

/** A turn with a plan, and work beside it. */
export const PANELS: Scene = {
  title: "Watch the tests",
  says: "Run the tests while the server is up.",
  approval: "auto",
  steps: [
    {
      calls: [call("plan", {
        steps: [
          { step: "start the server", state: "done" },
          { step: "run the tests", state: "doing" },
          { step: "write down what fails", state: "pending" },
        ],
      })],
    },
    { calls: [call("run_command", { command: "echo listening; sleep 600", background: true })] },
    {
      calls: [call("run_command", {
        command: "for n in 1 2 3; do echo test $n ok; sleep 1; done; sleep 600",
      })],
    },
  ],
};

export type SceneName = keyof typeof SCENES;

/** The scenes that end with a question. */
export const QUESTIONS = [
  "question-command",
  "question-edit",
  "question-patch",
  "workspace",
] as const;

/** Answers each conversation with the steps of its scene. */
const script: Scripted = ({ messages }) => {
  const scene = [...Object.values<Scene>(SCENES), PANELS].find(({ says }) =>
    messages.some((it) => it.role === "user" && it.text.includes(says))
  );
  const at = messages.filter(({ role }) => role === "assistant").length;
  return scene?.steps[at] ?? { status: { code: 400, message: "no scene has such a request" } };
};

const RULES = `[permissions]
deny = ["run_command: git push*"]
ask = ["read_file: *.key"]
allow = ["run_command: make test *", "fetch_url: *.example.com"]
`;

/** A daemon with some rules, whose model knows the scenes. */
export async function beginScenes(): Promise<Scenario> {
  return await Scenario.begin(script, { toml: RULES });
}

/**
 * Starts a session for a scene, in a directory of its own.
 *
 * @param place a name that no other session has
 */
export async function beginScene(it: Scenario, name: SceneName | "panels", place: string) {
  const { title, approval }: Scene = name === "panels" ? PANELS : SCENES[name];
  const workdir = it.place.mkdir(join(place, "shop"));
  for (const [path, text] of Object.entries(FILES)) {
    Deno.mkdirSync(dirname(join(workdir, path)), { recursive: true });
    Deno.writeTextFileSync(join(workdir, path), text);
  }
  const start = { workdir, model: it.model, title, approval: approval ?? "ask" };
  return { workdir, session_id: await it.client.session(start) };
}

/** Starts a scene and waits for its question. @returns its session */
export async function beginQuestion(it: Scenario, name: SceneName): Promise<string> {
  const { session_id } = await beginScene(it, name, name);
  await it.call("session.send", { session_id, text: SCENES[name].says });
  await it.client.wait(
    (event) => event.session_id === session_id && event.type === "approval.requested",
    `the question of ${name}`,
  );
  return session_id;
}

function call(name: string, args: unknown) {
  return { name, args };
}
