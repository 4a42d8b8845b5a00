import { assert, assertEquals, assertLess } from "@std/assert";
import {
  ALLOWED_LINES,
  ASKED_LINES,
  SLIPS,
  WIDE_RULES,
} from "../../../tests/support/command_lines.ts";
import { type Call, decide, type Held } from "./decide.ts";
import { type Action, parseRule } from "./rule.ts";
import { LINE_MAX, parseLine } from "./shell.ts";

const command = (line: string): Call => ({
  tool: "run_command",
  args: { command: line },
  rule: `run_command ${line}`,
  foreign: false,
  posix: true,
});

const held = (action: Action, ...texts: string[]): Held[] =>
  texts.map((text) => ({ ...parseRule(action, text), source: "config" }));

const commands = (action: Action, ...patterns: string[]) =>
  held(action, ...patterns.map((it) => `run_command: ${it}`));

Deno.test("command lines against wide rules: only those whose every command is allowed run", () => {
  const rules = commands("allow", ...WIDE_RULES);
  const action = (line: string) => decide(command(line), rules).action;
  assertEquals(ALLOWED_LINES.filter((line) => action(line) !== "allow"), []);
  const asked = [...ASKED_LINES, ...SLIPS];
  assertEquals(asked.filter((line) => action(line) !== undefined), []);
  const all = ALLOWED_LINES.length + asked.length;
  assertLess(200, all);
  assert(SLIPS.length * 3 > all);
});

Deno.test("what only filters the output of an allowed command needs no rule, and nothing else does", () => {
  const rules = commands("allow", "make test *");
  const action = (line: string) => decide(command(line), rules).action;
  const filters = [
    ...["cat", "head", "head -5", "head -n 5", "tail -n +2", "tail -20", "wc -l", "sort -u"],
    ...["sort", "uniq -c", "grep ok", "grep -v -i 'not ok'", "grep -A3 x", "cut -d: -f1", "tr a b"],
    ...["cut -d ' ' -f 2", "tr -d x", "column -t", "rev", "tac", "sort | uniq -c | sort -rn"],
  ];
  for (const filter of filters) assertEquals(action(`make test 2>&1 | ${filter}`), "allow", filter);
  const others = [
    ...[
      "cat x",
      "head x",
      "head -n 5 x",
      "tail -f",
      "tail -n 5 x",
      "wc -l x",
      "sort -o x",
      "sort x",
    ],
    ...[
      "uniq a b",
      "grep x y",
      "grep -r x",
      "grep -f x",
      "grep --include=x y",
      "cut -f1 x",
      "tee x",
    ],
    ...[
      "tr a b c",
      "sort -S 1 --compress-program=x",
      "canary",
      "xargs cat",
      "sh",
      "cat $X",
      "head $X",
    ],
    ...["./cat", "/bin/cat", "X=1 cat", "grep -e x", "grep", "sort --files0-from=x", "sort -T x"],
  ];
  for (const other of others) assertEquals(action(`make test | ${other}`), undefined, other);
  // Alone, they read nothing; a rule must allow something in the line.
  assertEquals(action("head -5"), undefined);
});

Deno.test("a rule that denies holds for every command that a line might run", () => {
  const rules = [...commands("deny", "git push*"), ...held("allow", "run_command")];
  const action = (line: string) => decide(command(line), rules).action;
  const denied = [
    "git push",
    "git push origin main",
    "npm test && git push",
    "echo $(git push)",
    "`git push`",
    "/usr/bin/git push",
    "GIT push",
    "g\\it pu''sh",
    "git --no-pager push",
    "git -C /elsewhere push",
    "git --git-dir=/x/.git --work-tree /x push",
    "env git push",
    "env -i A=1 git push",
    "sudo -u me git push",
    "sh -c 'git push'",
    'bash -lc "cd x; git push"',
    "sh -c \"sh -c 'git push'\"",
    "eval git push",
    "eval 'git' 'push'",
    "ls | xargs git push",
    "find . -exec git push \\;",
    "nohup git push &",
    "timeout 5 git push",
    "time git push",
    "if true; then git push; fi",
    "for x in a; do git push; done",
    "f() { git push; }; f",
    "(git push)",
    "{ git push; }",
    "! git push",
    "FOO=1 git push",
    "git push > out",
    "git \\\n push",
    "bash <<EOF\ngit push\nEOF",
    "command git push",
    "exec git push",
    "trap 'git push' EXIT",
    "watch 'git push'",
    "git submodule foreach 'git push'",
    "git rebase -x 'git push' main",
  ];
  assertEquals(denied.filter((line) => action(line) !== "deny"), []);
  // Nobody can tell whether these push.
  const asked = [
    "git $X",
    "$X push",
    "eval $X",
    "ls | xargs git",
    "echo git push | sh",
    "sh -c 'echo git push | sh'",
    "sh $X",
    "git -c alias.x=push x",
    "GIT_CONFIG_COUNT=1 git x",
    "alias g=git; g push",
    "git pus$X",
    "echo 'open",
    `${"$(".repeat(40)}git push${")".repeat(40)}`,
    " ".repeat(LINE_MAX + 1),
  ];
  assertEquals(asked.filter((line) => action(line) !== "ask"), []);
  const allowed = [
    "git pull",
    "git commit -m 'git push later'",
    "echo git push",
    "git commit push",
    "git stash",
    "npm run push",
    "for x in a; do echo $x; done",
  ];
  assertEquals(allowed.filter((line) => action(line) !== "allow"), []);
});

Deno.test("rules that deny come before those that ask, and these before those that allow", () => {
  const rules = [
    ...commands("allow", "npm *", "rm *"),
    ...commands("ask", "npm publish*"),
    ...commands("deny", "rm -rf*", "npm publish --force*"),
  ];
  const decided = (line: string) => {
    const { action, rule, part } = decide(command(line), rules);
    return [action, rule?.pattern, part];
  };
  assertEquals(decided("npm test"), ["allow", "npm *", undefined]);
  assertEquals(decided("npm test && npm publish x"), ["ask", "npm publish*", "npm publish x"]);
  assertEquals(decided("npm publish; rm -rf x"), ["deny", "rm -rf*", "rm -rf x"]);
  assertEquals(decided("npm publish --force"), [
    "deny",
    "npm publish --force*",
    "npm publish --force",
  ]);
  assertEquals(decided("npm test; ls").slice(0, 1), [undefined]);
});

Deno.test("a * stands for nothing that runs something else, and for no unknown word but the last", () => {
  const cases: [pattern: string, allowed: string[], asked: string[]][] = [
    ["*", ["ls", "cat $X"], [
      "PATH=x ls",
      "if true; then ls; fi",
      "$X",
      "ls > x",
      "eval ls",
      "sudo ls",
    ]],
    ["PA* ls", [], ["PATH=x ls"]],
    ["ls * x", ["ls a x"], ["ls $X x", "ls x"]],
    ["FOO= npm test", ["FOO= npm test"], ["FOO=$X npm test", "npm test", "FOO=1 npm test"]],
    ["FOO=1 *", [], ["FOO=1 npm test", "FOO=1 ls"]],
    ["CI=1 npm test", [], ["CI=$X npm test"]],
    ["git * main", ["git show main"], ["git config main", "git $X main", "git main"]],
    ["npm run b*", ["npm run b", "npm run build --x y"], ["npm run $X", "npm run 'a b'"]],
    ["npm run build", ["npm run build"], ["npm run build $X", "npm run build x", "npm run"]],
    ["sudo apt *", ["sudo apt install x"], ["sudo sh", "sudo -u x apt install"]],
  ];
  for (const [pattern, allowed, asked] of cases) {
    const action = (line: string) => decide(command(line), commands("allow", pattern)).action;
    assertEquals(allowed.filter((line) => action(line) !== "allow"), [], pattern);
    assertEquals(asked.filter((line) => action(line) !== undefined), [], pattern);
  }
});

Deno.test("a whole line is allowed as it is, whatever it has, and in no other form", () => {
  const line = "FOO=$(date) npm test > out; ls";
  const rules = held("allow", `run_command = ${line}`);
  assertEquals(decide(command(line), rules).action, "allow");
  for (const other of [`${line} `, ` ${line}`, `${line};`, "npm test", line.toUpperCase()]) {
    assertEquals(decide(command(other), rules).action, undefined, other);
  }
});

Deno.test("a hostile line is read in linear time", () => {
  const rules = [...commands("allow", ...WIDE_RULES), ...commands("deny", "git push*", "*x*y*z*")];
  for (
    const piece of [
      ..." \t\n;&|<>()$`'\"\\#{}[]*?~=!-x",
      "$(",
      "`\\`",
      "${",
      "$((",
      '"$(',
      "<(",
      "<<EOF\n",
      "a=",
      "a[",
      "sh -c '",
      "env ",
      "xargs ",
      "eval x;",
      "git -c ",
      "a b;",
      "sudo sh -c 'a b';",
      "$'",
    ]
  ) {
    for (const length of [LINE_MAX, 2_000_000]) {
      const line = piece.repeat(Math.floor(length / piece.length));
      const started = performance.now();
      decide(command(line), rules);
      // A quadratic step takes minutes.
      assertLess(performance.now() - started, 10_000, JSON.stringify(piece));
    }
  }
});

Deno.test("any text is read: a line of words comes back, and nothing throws", () => {
  const pieces = "a b ' \" \\ $ ( ) ` { } ; & | < > \n # = [ ] * ~ ! $( ${ << $' sh -c env x=1"
    .split(" ");
  let seed = 1;
  const next = (max: number) => (seed = (seed * 48271) % 2147483647) % max;
  for (let round = 0; round < 20_000; round++) {
    const line = Array.from({ length: next(12) }, () => pieces[next(pieces.length)]).join(
      next(2) ? " " : "",
    );
    decide(command(line), commands("allow", ...WIDE_RULES));
    parseLine(line);
  }
  const { parts, unsure } = parseLine("a 'b c' \"d\"e f\\ g");
  assertEquals([parts[0].words.map(({ text }) => text), unsure], [
    ["a", "b c", "de", "f g"],
    undefined,
  ]);
});
