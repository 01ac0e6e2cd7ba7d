# Sourced before the tests: a software Vulkan driver (SwiftShader, part of Debian's chromium-common), so that the wgpu
# backend gives the same answers on machines with and without a GPU. A driver that the user chose stays.
here=$(dirname "${BASH_SOURCE[0]}")
if [ "$(uname -s)" = Linux ] && [ -z "${VK_DRIVER_FILES:-}${VK_ICD_FILENAMES:-}" ]; then
    bash "$here/system_packages.sh" chromium-common libvulkan1
    VK_DRIVER_FILES=$(dpkg -L chromium-common | grep '/vk_swiftshader_icd\.json$' | head -n 1)
    export VK_DRIVER_FILES VK_ICD_FILENAMES=$VK_DRIVER_FILES
fi
# Without it the Vulkan loader warns on machines that have no login session.
if [ -z "${XDG_RUNTIME_DIR:-}" ]; then
    export XDG_RUNTIME_DIR="${XDG_CACHE_HOME:-$HOME/.cache}/pyburn/runtime"
    mkdir -p -m 700 "$XDG_RUNTIME_DIR"
fi
