/// A kind of policy that the library does not know.
#pragma once

/// Registers it and tries everything that can be done with a policy; prints what is wrong.
bool check_laplace();
