#pragma once

// Registers the estimator, evaluates and learns with it; false, with the reason printed, when a number is wrong.
bool log_smoothing_works();
