/**
 * Every view by its path. A view is a module of its own, loaded when it is first opened, but for the
 * one that most begin with; one with `nav` stands in the sidebar.
 */
import type { ComponentType } from "preact";
import type { RouteParams } from "./router.ts";
import Sessions from "./sessions/view.tsx";
import type { IconName } from "./ui/icon.tsx";

export interface Route {
  path: string;
  load(): Promise<{ default: ComponentType<{ params: RouteParams }> }>;
  nav?: { label: string; icon: IconName };
}

export const ROUTES: readonly Route[] = [
  {
    path: "/",
    load: () => Promise.resolve({ default: Sessions }),
    nav: { label: "Sessions", icon: "sessions" },
  },
  { path: "/sessions/:id", load: () => import("./session/view.tsx") },
  { path: "/sessions/:id/lanes/:lane_id", load: () => import("./session/lane_view.tsx") },
];

export const NOT_FOUND: Route = { path: "", load: () => import("./not_found.tsx") };
