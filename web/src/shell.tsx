/** What stays around every view: navigation, connection, alerts, the command palette. */
import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { useApp } from "./app.ts";
import { ConnectionBanner } from "./connection_banner.tsx";
import { keepFocus } from "./focus.ts";
import { SCROLLER } from "./router.ts";
import { ROUTES } from "./routes.tsx";
import { firstOf, namesOf } from "./sessions/groups.ts";
import type { SessionItem } from "./sessions/list.ts";
import { useSeen } from "./sessions/seen.ts";
import { stateTone } from "./sessions/state_tone.ts";
import { useGroups } from "./sessions/use_groups.ts";
import { ThemeChoice } from "./theme_choice.tsx";
import { Button } from "./ui/button.tsx";
import { Icon } from "./ui/icon.tsx";
import { isTyped, keyOf, MODIFIER } from "./ui/keys.ts";
import { useLoaded } from "./ui/use_loaded.ts";
import { View } from "./view.tsx";

export function Shell() {
  const app = useApp();
  const { palette } = app;
  const menu = useSignal(false);
  const welcome = useSignal(isFirstStart());
  const path = app.router.path.value;
  useSeen();
  useEffect(keepFocus, []);
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const key = keyOf(event).toLowerCase();
      const command = event.metaKey || event.ctrlKey;
      const step = command && key === "k"
        ? "search"
        // A question mark is often the end of what is written, and sometimes its beginning.
        : command
        ? key === "/" && "keys"
        : key === "?" && !isTyped(event) && "keys";
      if (!step) return;
      event.preventDefault();
      const open = palette.peek();
      // What was written into the form of a verb is not lost by a key.
      if (event.repeat || typeof open === "object" && "verb" in open) return;
      palette.value = open === step ? undefined : step;
    };
    addEventListener("keydown", onKey);
    return () => removeEventListener("keydown", onKey);
  }, []);
  useEffect(() => {
    menu.value = false;
    return scrollTo(app.router.top);
  }, [path]);
  return (
    <div class="shell">
      <a class="skip" href="#main">Skip to content</a>
      <header class="sidebar">
        <div class="sidebar-head">
          <a class="brand" href="/" aria-label="svc, all sessions">
            <Icon name="terminal" />
            <span aria-hidden="true">svc</span>
          </a>
          <ConnectionBanner />
          <Button
            class="menu-toggle"
            label="Menu"
            icon="menu"
            tone="quiet"
            aria-expanded={menu.value}
            aria-controls="navigation"
            onClick={() => menu.value = !menu.value}
          />
        </div>
        <div id="navigation" class={menu.value ? "sidebar-body open" : "sidebar-body"}>
          <Button
            class="sidebar-new"
            icon="plus"
            onClick={() => {
              menu.value = false;
              app.compose();
            }}
          >
            New session
          </Button>
          <button type="button" class="palette-open" onClick={() => palette.value = "search"}>
            <Icon name="search" />
            <span>Search or run</span>
            <kbd>{MODIFIER}K</kbd>
          </button>
          <nav aria-label="Views">
            <ul>
              {ROUTES.filter((route) => route.nav).map(({ path: href, nav }) => (
                <li key={href}>
                  <a href={href} aria-current={path === href ? "page" : undefined}>
                    <Icon name={nav!.icon} />
                    <span>{nav!.label}</span>
                  </a>
                  {href === "/" && <Pending />}
                </li>
              ))}
            </ul>
          </nav>
          <SidebarSessions />
          <div class="sidebar-foot">
            <ThemeChoice />
            <Button label="Keys" title="Keys" onClick={() => palette.value = "keys"}>?</Button>
          </div>
        </div>
      </header>
      <main id={SCROLLER} tabIndex={-1}>
        <View />
      </main>
      {palette.value && <LazyPalette />}
      {welcome.value && <FirstStart onClose={() => welcome.value = false} />}
      <Announcements />
    </div>
  );
}

/** How long a view may take to have something to scroll to, in milliseconds. */
const SCROLL_WAIT_MS = 2_000;

/** Scrolls the view as far as it was, once it is that long. @returns what ends it. */
function scrollTo(top: number): () => void {
  const scroller = document.getElementById(SCROLLER)!;
  const end = performance.now() + SCROLL_WAIT_MS;
  let frame = 0;
  const step = () => {
    scroller.scrollTop = top;
    if (scroller.scrollTop < top - 1 && performance.now() < end) {
      frame = requestAnimationFrame(step);
    }
  };
  step();
  return () => cancelAnimationFrame(frame);
}

/** Whether a desktop shell shows its first daemon: it opens `/?welcome`, once. */
function isFirstStart(): boolean {
  const first = new URLSearchParams(location.search).has("welcome");
  if (first) history.replaceState(null, "", location.pathname);
  return first;
}

const loadWelcome = async () => (await import("./on_demand.ts")).Welcome;

function FirstStart({ onClose }: { onClose(): void }) {
  const { Part } = useLoaded(loadWelcome);
  return Part ? <Part onClose={onClose} /> : null;
}

const loadPalette = async () => (await import("./on_demand.ts")).Palette;

function LazyPalette() {
  const app = useApp();
  const { Part, failure } = useLoaded(loadPalette);
  useEffect(() => {
    if (failure === undefined) return;
    app.report(failure);
    app.palette.value = undefined;
  }, [failure]);
  return Part ? <Part /> : null;
}

/** Sessions in the sidebar, and of them those of one directory. */
const SHOWN = 12;
const OF_GROUP = 5;

function Pending() {
  const pending = useApp().sessions.pending.value;
  if (pending === 0) return null;
  const label = pending === 1 ? "1 approval waits" : `${pending} approvals wait`;
  return <a class="badge attention" href="/questions" aria-label={label}>{pending}</a>;
}

function SidebarSessions() {
  const { router, seen, sessions } = useApp();
  const list = useRef<HTMLElement>(null);
  const all = (sessions.items.value ?? []).filter((it) => it.state !== "ended");
  const groups = useGroups(all, list);
  const shown = firstOf(groups, SHOWN, OF_GROUP);
  const names = namesOf(groups.map(({ workdir }) => workdir));
  if (shown.length === 0) return null;
  const link = ({ id, title, ...item }: SessionItem) => {
    const unread = seen.isUnread({ id, title, ...item });
    return (
      <li key={id}>
        <a
          href={`/sessions/${id}`}
          aria-current={router.path.value === `/sessions/${id}` ? "page" : undefined}
          class={unread ? "unread" : undefined}
        >
          <span class={`dot ${stateTone(item)}`} aria-hidden="true" />
          <span class="clip" dir="auto">{title}</span>
          {unread && <span class="unread-mark" role="img" aria-label="New" />}
        </a>
      </li>
    );
  };
  return (
    <nav ref={list} class="recent" aria-label="Recent sessions">
      {shown.map(({ workdir, items }) => (
        <section key={workdir}>
          <h2 class="clip" dir="auto" title={workdir}>{names.get(workdir)}</h2>
          <ul>{items.map(link)}</ul>
        </section>
      ))}
    </nav>
  );
}

function Announcements() {
  const { announcer } = useApp();
  return (
    <>
      <div class="visually-hidden" role="status" aria-live="polite">{announcer.polite}</div>
      <div class="alerts" role="alert" aria-live="assertive">
        {announcer.alerts.value.map(({ id, text }) => (
          <div key={id} class="alert">
            <Icon name="warning" />
            <p>{text}</p>
            <Button
              label="Dismiss"
              icon="close"
              tone="quiet"
              onClick={() => announcer.dismiss(id)}
            />
          </div>
        ))}
      </div>
    </>
  );
}
