import type { ComponentChildren } from "preact";
import { KEYS } from "../model/keys.ts";
import { Dialog } from "./dialogs.tsx";

/** Every key of the page. */
export function Help({ onClose }: { readonly onClose: () => void }): ComponentChildren {
  return (
    <Dialog title="Keys" onClose={onClose}>
      <dl class="keys">
        {KEYS.map(({ keys, does }) => (
          <div key={does}>
            <dt>
              {keys.map((key) => (
                <kbd key={key}>{key}</kbd>
              ))}
            </dt>
            <dd>{does}</dd>
          </div>
        ))}
      </dl>
      <p class="actions">
        <button type="button" onClick={onClose}>
          Close
        </button>
      </p>
    </Dialog>
  );
}
