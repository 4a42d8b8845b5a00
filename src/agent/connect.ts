/** Decides about the hosts that a command wants to connect to. */
import { urlHost } from "../base/url_host.ts";
import { isOwnAddress } from "../net/address.ts";
import { type Destination, isExact, isOwnName, shownHost } from "../net/allowed_hosts.ts";
import { gitHostText } from "../net/git_hosts.ts";
import { isWorkTitle } from "../session/ids.ts";
import type { Decision } from "../protocol/events.ts";
import type { TurnSession } from "../session/session.ts";
import type { Turn } from "../session/turn.ts";
import type { Ruling } from "./ruling.ts";
import type { Judged } from "./tool.ts";
import type { HostAnswer, WaitForPerson } from "../net/command_proxy.ts";
import type { MayConnect } from "./way_out.ts";

/** The name of connections in rules, such as `connect: *.example.com`. */
export const CONNECT = "connect";
/** The name of pushes with the person's credential, such as `git_push: github.com/me/*`. */
export const GIT_PUSH = "git_push";
/** Destinations that one command can ask for. */
const QUESTIONS_MAX = 20;
const SUBJECT: Judged = {
  spec: { name: CONNECT },
  access: "network",
  whole: false,
  rule: (args) => `connect to ${(args as { url: string }).url}`,
};
const PUSHES: Judged = {
  spec: { name: GIT_PUSH },
  access: "network",
  whole: false,
  rule: (args) => `git push to ${(args as { url: string }).url}`,
};

/**
 * Returns what decides for one call: rules, then the list of allowed hosts, then the person, if the
 * session asks and has one. Rules are read at each connection; the person is asked about a
 * destination once, because clients try again.
 */
export function connectOf(
  { judge }: { judge(session: TurnSession, tool: Judged, args: unknown): Promise<Ruling> },
  session: TurnSession,
  turn: Turn,
  { call_id, label }: { call_id: string; label: string },
  progress: { wait<T>(decision: Promise<T>): Promise<T> },
): MayConnect {
  const decisions = new Map<string, Promise<Decision>>();
  /** Asks once about each subject. @returns undefined when too much was asked */
  const ask = (subject: string, question: () => Promise<Decision>) => {
    let decision = decisions.get(subject);
    if (decision === undefined) {
      if (decisions.size >= QUESTIONS_MAX) return undefined;
      decision = progress.wait(question());
      decisions.set(subject, decision);
    }
    return decision;
  };
  const mayPush = async (
    repository: string,
    wait: WaitForPerson | undefined,
    /** The rule that asks about connections to its host. */
    asks: string | undefined,
  ): Promise<HostAnswer> => {
    const url = `https://${repository}`;
    const what = `git push to ${repository}`;
    const { action, by, choices } = await judge(session, PUSHES, { url });
    if (action === "deny") return { allow: false, why: `${what} is denied by the rule ${by}` };
    const { approval, trust, title } = session.state;
    if (trust !== "trusted" || isWorkTitle(title) || approval === "read_only") {
      return { allow: false, why: `${what} is for sessions of a person alone` };
    }
    const asked_by = action === "ask" ? by : asks;
    if (action === "allow" && asked_by === undefined) return { allow: true };
    if (wait === undefined) {
      return {
        allow: false,
        why: `${what} needs a person's answer, and nobody is asked about a command in the ` +
          "background",
      };
    }
    const decision = ask(url, () =>
      session.approvals.ask({
        call_id,
        tool: GIT_PUSH,
        args: { repository: url, for: label },
        reason: `${what} with your credential` +
          (asked_by === undefined ? "" : ` (asked because of ${asked_by})`),
        rule: what,
        choices: asked_by === undefined ? choices?.() : undefined,
      }, { signal: turn.soft, each_time: asked_by !== undefined }));
    if (decision !== undefined && await wait(decision) !== "deny") return { allow: true };
    return { allow: false, why: `the person did not allow git push to ${repository}` };
  };
  return async (to, allowed, wait) => {
    const shown = shownHost(to);
    const url = urlOf(to);
    const { action, by, rule, choices } = await judge(session, SUBJECT, { url });
    if (action === "deny") return { allow: false, why: `${shown} is denied by the rule ${by}` };
    if (to.push !== undefined) {
      return await mayPush(gitHostText(to) + to.push, wait, action === "ask" ? by : undefined);
    }
    // A rule for many hosts does not allow this machine and its network.
    const named = !isExact(to.host) || rule === `${CONNECT}: ${new URL(url).host}`;
    if ((action === "allow" && named) || (allowed && action !== "ask")) return { allow: true };
    const { approval, trust, title } = session.state;
    const asks = approval === "ask" || approval === "workspace" ||
      (approval === "auto" && action === "ask");
    if (wait === undefined || !asks || trust !== "trusted" || isWorkTitle(title)) {
      return {
        allow: false,
        ...(allowed && { why: `${shown} needs a person's answer because of ${by}` }),
      };
    }
    const own = isOwnName(to.host) || isOwnAddress(to.host);
    const decision = ask(shown, () =>
      session.approvals.ask({
        call_id,
        tool: CONNECT,
        args: { host: shown, for: label },
        reason: `connect to ${shown}${own ? " of this machine" : ""}` +
          (action === "ask" ? ` (asked because of ${by})` : ""),
        rule: `connect to ${shown}`,
        choices: action === "ask" ? undefined : choices?.(),
      }, { signal: turn.soft, each_time: action === "ask" }));
    if (decision === undefined) return { allow: false };
    if (await wait(decision) !== "deny") return { allow: true };
    return { allow: false, why: `the person did not allow a connection to ${shown}` };
  };
}

/** The address to match against rules. */
function urlOf({ host, port }: Destination): string {
  const name = urlHost(host);
  return port === 80 ? `http://${name}/` : `https://${name}${port === 443 ? "" : `:${port}`}/`;
}
