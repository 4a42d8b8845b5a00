import { useApp } from "./app.ts";
import { chooseTheme, type Theme, THEMES } from "./theme.ts";

const LABELS: Record<Theme, string> = {
  system: "System",
  light: "Light",
  dark: "Dark",
  contrast: "High contrast",
};

/** Lets the person choose how the app looks. */
export function ThemeChoice() {
  const { theme } = useApp();
  return (
    <label class="theme-choice">
      <span>Theme</span>
      <select
        value={theme}
        onChange={({ currentTarget }) => {
          const chosen = currentTarget.value as Theme;
          chooseTheme(chosen);
          theme.value = chosen;
        }}
      >
        {THEMES.map((it) => <option key={it} value={it}>{LABELS[it]}</option>)}
      </select>
    </label>
  );
}
