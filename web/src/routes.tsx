/**
 * Every view by its path; one with `nav` stands in the sidebar. The app comes in three files: this one
 * with the view that most begin with, those of a session, and all others.
 */
import type { ComponentType } from "preact";
import NotFound from "./not_found.tsx";
import type { RouteParams } from "./router.ts";
import Sessions from "./sessions/view.tsx";
import type { IconName } from "./ui/icon.tsx";

export interface Route {
  path: string;
  load(): Promise<ComponentType<{ params: RouteParams }>>;
  nav?: { label: string; icon: IconName };
}

const sessionViews = () => import("./session/views.ts");
const otherViews = () => import("./other_views.ts");

export const ROUTES: readonly Route[] = [
  {
    path: "/",
    load: () => Promise.resolve(Sessions),
    nav: { label: "Sessions", icon: "sessions" },
  },
  { path: "/sessions/:id", load: async () => (await sessionViews()).Session },
  { path: "/sessions/:id/lanes/:lane_id", load: async () => (await sessionViews()).Lane },
  { path: "/questions", load: async () => (await sessionViews()).Questions },
  {
    path: "/missions",
    load: async () => (await otherViews()).Missions,
    nav: { label: "Missions", icon: "missions" },
  },
  { path: "/missions/:id", load: async () => (await otherViews()).Mission },
  {
    path: "/tools",
    load: async () => (await otherViews()).Tools,
    nav: { label: "Tools", icon: "tools" },
  },
  {
    path: "/memory",
    load: async () => (await otherViews()).Memory,
    nav: { label: "Memory", icon: "memory" },
  },
  {
    path: "/tasks",
    load: async () => (await otherViews()).Tasks,
    nav: { label: "Tasks", icon: "tasks" },
  },
  { path: "/tasks/:id", load: async () => (await otherViews()).Task },
  {
    path: "/cost",
    load: async () => (await otherViews()).Cost,
    nav: { label: "Cost", icon: "cost" },
  },
  {
    path: "/settings",
    load: async () => (await otherViews()).Settings,
    nav: { label: "Settings", icon: "settings" },
  },
];

export const NOT_FOUND: Route = { path: "", load: () => Promise.resolve(NotFound) };
