/** The programs that show a notification on the desktop, by system. */

/** What is shown: text of one line each, with nothing hidden. */
export interface DesktopText {
  title: string;
  text: string;
}

/** A program with its arguments, its standard input, and variables of its own. */
export type NoticeProgram = [argv: string[], input: string, env: Record<string, string>];

/** Longer text is cut by every desktop. */
const TITLE_MAX = 80;
const TEXT_MAX = 300;

const APPLE_SCRIPT = `on run argv
display notification (item 2 of argv) with title (item 1 of argv)
end run`;

/** The text comes in variables: nothing of it is read as a program. */
const POWERSHELL = `$ErrorActionPreference = 'Stop'
[void][Windows.UI.Notifications.ToastNotificationManager, Windows.UI.Notifications, ContentType = WindowsRuntime]
$xml = [Windows.UI.Notifications.ToastNotificationManager]::GetTemplateContent(2)
$texts = $xml.GetElementsByTagName('text')
[void]$texts.Item(0).AppendChild($xml.CreateTextNode($env:SVC_TITLE))
[void]$texts.Item(1).AppendChild($xml.CreateTextNode($env:SVC_TEXT))
$toast = [Windows.UI.Notifications.ToastNotification]::new($xml)
[Windows.UI.Notifications.ToastNotificationManager]::CreateToastNotifier('svc').Show($toast)`;

/** Returns what shows a notification. */
export function desktopNotice(
  system: typeof Deno.build.os,
  { title, text }: DesktopText,
): NoticeProgram {
  const [short_title, short] = [cut(title, TITLE_MAX), cut(text, TEXT_MAX)];
  switch (system) {
    case "darwin":
      return [["osascript", "-", short_title, short], APPLE_SCRIPT, {}];
    case "windows":
      return [
        ["powershell", "-NoProfile", "-NonInteractive", "-Command", POWERSHELL],
        "",
        { SVC_TITLE: short_title, SVC_TEXT: short },
      ];
    default:
      // The text may have markup in it (Desktop Notifications Specification), the title never; and
      // notify-send reads escapes such as \\n in the text.
      return [["notify-send", "--app-name=svc", "--", short_title, unmarked(short)], "", {}];
  }
}

function unmarked(text: string): string {
  return text.replaceAll("\\", "\\\\")
    .replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}

function cut(text: string, max: number): string {
  return text.length > max ? `${text.slice(0, max - 1).replace(/[\ud800-\udbff]$/, "")}…` : text;
}
