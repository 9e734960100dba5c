/**
 * The API key, asked for once. It lives as long as the tab (sessionStorage), unless the person says that this device
 * is theirs (localStorage). It travels only in the header X-API-Key.
 */

const NAME = "odradek.key";

export function storedKey() {
  return read(sessionStorage) ?? read(localStorage);
}

export function keepKey(key, { onThisDevice }) {
  forgetKey();
  (onThisDevice ? localStorage : sessionStorage).setItem(NAME, key);
}

export function forgetKey() {
  sessionStorage.removeItem(NAME);
  localStorage.removeItem(NAME);
}

function read(storage) {
  try {
    return storage.getItem(NAME);
  } catch {
    return null;
  }
}
